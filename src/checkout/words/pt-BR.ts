// The texts of the pages for customers, in the Portuguese of Brazil.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('pt-BR');

export const ptBR: Words = {
  language: 'Idioma',
  languageIs: (name) => `Idioma: ${name}`,
  copied: 'Copiado',
  orderStates: {
    open: 'Aguardando o seu pagamento',
    processing: 'Em processamento',
    paid: 'Pago',
    expired: 'Expirado',
    canceled: 'Cancelado',
  },
  paymentStates: {
    seen: 'Detectado',
    confirming: 'Em confirmação',
    confirmed: 'Confirmado',
    gone: 'Sem efeito',
  },
  now: {
    pay: 'Escaneie o código com sua carteira, ou abra sua carteira com o botão abaixo, e envie o valor.',
    payMissing: (arrived, missing) =>
      `Chegaram ${arrived}. Pague para o mesmo endereço os ${missing} que faltam.`,
    payAgain:
      'Verifique sua carteira antes de pagar de novo. Se ela ainda mostrar esse pagamento como enviado, aguarde.',
    renewPrice: 'O preço não é mais válido. Atualize o preço antes de pagar.',
    renewPriceAgain:
      'Verifique sua carteira antes de pagar de novo. Se ela ainda mostrar esse pagamento como enviado, aguarde. Caso contrário, atualize primeiro o preço.',
    undecided: (arrived) =>
      `Chegaram ${arrived} quando o preço já não era válido. Não pague de novo: aguarde ou fale com a loja.`,
    timeIsOver: 'O prazo para pagar terminou. Não pague mais.',
    wait: 'Seu pagamento chegou. Você não precisa fazer mais nada: o pagamento aguarda a confirmação.',
    done: 'Obrigado. Você não precisa fazer mais nada, e esta página é o seu recibo.',
    expired: 'Não pague mais.',
    expiredWithMoney: (arrived) =>
      `Chegaram ${arrived}, mas isso não é suficiente. Não pague mais: fale com a loja, que pode aceitar ou devolver o valor.`,
    expiredAfterFall:
      'O prazo para pagar terminou. Não pague de novo: peça um novo pedido à loja se ainda quiser comprar.',
    canceled: 'A loja cancelou este pedido. Não pague.',
    canceledWithMoney: (arrived) =>
      `A loja cancelou este pedido. Chegaram ${arrived}. Não pague mais: peça à loja que devolva esse valor.`,
    arrived: (arrived) => `Chegaram ${arrived}.`,
    foundByItself:
      'Se você já pagou, não precisa fazer nada: o pagamento será encontrado automaticamente.',
    fellAway: 'Seu pagamento ficou sem efeito: a loja não o recebeu.',
    cameLate:
      'Seu pagamento chegou com atraso, por isso a loja talvez verifique o pedido antes de entregar.',
    paidTooMuch: (excess) => `Você pagou ${excess} a mais: fale com a loja sobre isso.`,
    tooLittleMissing: (missing) =>
      `Faltam só ${missing}: pouco demais para enviar. Pede-se à loja que aceite, e você não precisa fazer nada.`,
    paidAgain: (excess) =>
      `O pedido já estava pago, e chegaram mais ${excess}: peça à loja que devolva.`,
    refunded: (amount) => `A loja devolveu ${amount}.`,
  },
  late: 'Com atraso',
  shortBy: (amount) => `Faltam ${amount}`,
  overBy: (amount) => `${amount} a mais`,
  discount: (percent) => `Desconto de ${percent}`,
  surcharge: (percent) => `Acréscimo de ${percent}`,
  pay: {
    payment: 'Pagamento',
    openWallet: 'Abrir em uma carteira',
    copyAddress: 'Copiar o endereço',
    copyAmount: 'Copiar o valor',
    copyInvoice: 'Copiar a fatura Lightning',
    payAgain: 'Pagar de novo',
    qrCode: 'Código QR do endereço e do valor',
    qrCodeOfInvoice: 'Código QR da fatura Lightning',
    qrCodeOfAddress: 'Código QR do endereço, sem o valor',
    addressAlone: 'Código QR somente do endereço',
    priceHoldsUntil: (time) => `O preço é válido até: ${time}`,
    payUntil: (time) => `Pague até: ${time}`,
    timeLeft: 'Tempo restante:',
    showPriceNow: 'Mostrar o preço atual',
    leaves: (time) => `Você voltará à loja em ${time}.`,
    backTo: (shop) => `Voltar para ${shop}`,
  },
  facts: {
    order: 'Pedido',
    description: 'Descrição',
    reference: 'Referência',
    amount: 'Valor',
    price: 'Preço',
    rate: 'Cotação',
    received: 'Recebido',
    overBy: 'Pago a mais',
    ordered: 'Pedido em',
    paid: 'Pago em',
    payments: 'Pagamentos',
    payment: 'Pagamento',
    state: 'Estado',
    seen: 'Detectado em',
    transaction: 'Transação',
    address: 'Para o endereço',
    confirmations: 'Confirmações',
    refunded: 'Devolvido',
    shopAddress: 'Loja',
    contact: 'Contato da loja',
  },
  refund: {
    offered: (amount) =>
      `A loja devolve ${amount}. Digite abaixo um endereço da sua própria carteira.`,
    prepared: (amount) => `A loja tem o seu endereço e envia ${amount} para ele.`,
    address: 'Seu endereço de Bitcoin',
    hint: 'Copie-o de “Receber” na sua carteira. Depois ele não poderá ser alterado aqui.',
    send: 'Enviar o endereço à loja',
    wrong:
      'Este não é um endereço que possa receber um pagamento. Copie-o novamente da sua carteira.',
    own: 'Este é um endereço da loja. Copie um da sua própria carteira.',
    states: { prepared: 'Em preparação', sent: 'Enviado' },
  },
  claim: {
    title: 'Já paguei',
    txid: 'ID da transação, se a sua carteira o mostrar',
    ask: 'Procurar meu pagamento',
    seen: (ago) => `Seu pagamento foi visto ${ago}.`,
    seenNow: 'Seu pagamento acabou de ser visto.',
    blocks: (have, need, left) => `Ele está em ${have} de ${need} blocos: faltam cerca de ${left}.`,
    tooLittle: (amount) => `Faltam ${amount}.`,
    elsewhere:
      'Esta transação paga outro endereço. Compare o endereço na sua carteira com o desta página.',
    justNow:
      'Esta transação paga este pedido. Ela acabou de ser vista, e esta página a mostrará em instantes.',
    unseen:
      'Nossos servidores ainda não viram o seu pagamento. Se a sua carteira o mostra como enviado, pergunte de novo em alguns minutos.',
    later: 'Não é possível consultar agora. Pergunte de novo em um minuto.',
    wrong: 'Isto não é um ID de transação. Ele tem 64 dígitos e letras de a a f.',
    byLightning: 'Seu pagamento por Lightning chegou e é definitivo.',
    unpaidInvoice:
      'O nó Lightning da loja ainda não o recebeu. Se a sua carteira o mostra como pago, pergunte de novo em um minuto.',
    foreignInvoice: 'Esta fatura não é deste pedido. Compare-a com a desta página.',
  },
  rateOf: (price, bitcoin) => `${price} por ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'É mostrado o pagamento mais recente. As somas incluem todos.',
      other: `São mostrados os ${number(shown)} pagamentos mais recentes. As somas incluem todos.`,
    }),
  receipt: {
    title: 'Recibo',
    seen: 'Seu pagamento foi detectado. Você não precisa fazer nada: o pagamento aguarda a primeira confirmação.',
    confirming:
      'Seu pagamento está em um bloco. Você não precisa fazer nada: o pagamento aguarda mais confirmações.',
    confirmed: 'Seu pagamento está confirmado. Esta página é o seu recibo.',
    gone: 'Seu pagamento ficou sem efeito: a loja não o recebeu. Verifique sua carteira antes de pagar de novo.',
    toOrder: 'Mostrar o pedido',
    unknown:
      'Esse pagamento não é conhecido aqui. Se ele foi feito há pouco, recarregue esta página em um minuto.',
    unnamed:
      'Este link não indica nenhum pagamento: falta uma parte ou ela foi alterada. Abra-o de novo onde a loja o mostra.',
  },
  link: {
    pay: 'Pagar',
    payWithBitcoin: 'Pagar com bitcoin',
    amountIn: (currency) => `Valor em ${currency}`,
    suggestions: 'Valores sugeridos',
    atLeast: (least) => `No mínimo ${least}`,
    atMost: (most) => `No máximo ${most}`,
    between: (least, most) => `De ${least} a ${most}`,
    note: 'Mensagem para a loja',
    optional: 'opcional',
    noteHint: 'Uma linha, por exemplo, seu nome ou um número.',
    email: 'E-mail (opcional)',
    emailHint:
      'Você recebe um e-mail quando seu pagamento é detectado e outro quando o pedido está pago. A loja também vê o endereço.',
    closed: {
      title: 'Este link está fechado',
      text: 'Aqui não são mais aceitos pagamentos. Não pague: peça outro link à loja.',
    },
    missingAmount: 'Digite o valor que deseja pagar.',
    wrongAmount: (example) => `Digite o valor como um número, por exemplo, ${example}.`,
    tooSmall: (least) =>
      `Este valor é pequeno demais para um pagamento com bitcoin. Pague no mínimo ${least}.`,
    missingNote: 'Digite uma mensagem: a loja a exige.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'A mensagem pode ter no máximo um caractere.',
        other: `A mensagem pode ter no máximo ${number(maxCharacters)} caracteres.`,
      }),
    wrongEmail: (example) =>
      `Digite um único endereço de e-mail, por exemplo, ${example}, ou deixe este campo vazio.`,
    manyEmails:
      'Sua rede já informou tantos endereços de e-mail quantos pode em um dia. Deixe este campo vazio: a página do seu pedido mostra o pagamento.',
    privateKey:
      'Isto parece uma chave privada ou palavras de recuperação. Nunca as digite em uma página: quem as tem, tem o seu dinheiro.',
  },
  till: {
    keypad: 'Teclado numérico',
    deleteDigit: 'Apagar o último dígito',
    wholeUnits: 'Somente unidades inteiras',
    charge: 'Cobrar',
    waiting: 'Aguardando o pagamento',
    next: 'Próximo',
    cancel: 'Cancelar a venda',
    sales: 'Vendas de hoje',
    seen: 'Visto, ainda não definitivo',
    letGo: 'Valor pequeno: o cliente pode ir.',
    waitForBlock: 'Peça ao cliente que espere uma confirmação.',
    offline: 'Este aparelho está offline. O que ele mostra pode ser antigo.',
    useAs: (name) => `Usar este aparelho como ${name}`,
    pair: {
      title: 'Adicionar este aparelho como caixa',
      text: 'Ele pode cobrar e ver as próprias vendas. Não vê chaves, carteiras nem configurações.',
    },
    noTill: {
      title: 'Este aparelho não é um caixa',
      text: 'Adicione um caixa no painel e leia o código dele com este aparelho.',
    },
    codeOver: {
      title: 'Este código não vale mais',
      text: 'Funciona uma vez e por 15 minutos. Crie um novo no painel.',
    },
    notCanceled: {
      title: 'A venda não foi cancelada',
      text: 'Ela está paga ou terminou. Veja as vendas de hoje.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Esse pedido não existe',
      text: 'Nada é conhecido com este link. Abra-o de novo onde a loja o mostra ou fale com a loja.',
    },
    unknownLink: {
      title: 'Essa página não existe',
      text: 'Nada é conhecido com este link. Abra-o de novo onde a loja o mostra ou fale com a loja.',
    },
    limited: {
      title: 'Aguarde, por favor',
      text: 'Chegaram solicitações demais da sua rede. Carregue a página em um minuto.',
    },
    foreignForm: {
      title: 'Não funcionou',
      text: 'Abra a página de novo e use o botão dela.',
    },
    noPrice: {
      title: 'Sem preço no momento',
      text: 'Não é possível obter o preço atual. Nada foi perdido: aguarde um minuto e tente de novo. Não pague antes disso.',
    },
    gap: {
      title: 'Fale com a loja, por favor',
      text: 'A loja não pode aceitar um pagamento por este link no momento. Não pague: fale com a loja.',
    },
    network: {
      title: 'Muitos pedidos não pagos',
      text: 'Vários pedidos da sua rede esperam um pagamento. Pague um deles, use outra rede, como os dados móveis, ou fale com a loja.',
    },
    unexpected: {
      title: 'Não funcionou',
      text: 'Recarregue a página em um minuto. Se isso continuar, avise a loja.',
    },
    backToOrder: 'Voltar ao pedido',
    back: 'Voltar',
  },
};
