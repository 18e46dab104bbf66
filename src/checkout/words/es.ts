// The texts of the pages for customers, in Spanish.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('es');

export const es: Words = {
  language: 'Idioma',
  languageIs: (name) => `Idioma: ${name}`,
  copied: 'Copiado',
  orderStates: {
    open: 'A la espera de su pago',
    processing: 'En proceso',
    paid: 'Pagado',
    expired: 'Expirado',
    canceled: 'Cancelado',
  },
  paymentStates: {
    seen: 'Detectado',
    confirming: 'En confirmación',
    confirmed: 'Confirmado',
    gone: 'Sin efecto',
  },
  now: {
    pay: 'Escanee el código con su billetera, o abra su billetera con el botón de abajo, y envíe el importe.',
    payMissing: (arrived, missing) =>
      `Han llegado ${arrived}. Pague a la misma dirección los ${missing} que faltan.`,
    payAgain:
      'Consulte su billetera antes de volver a pagar. Si todavía muestra ese pago como enviado, espere.',
    renewPrice: 'El precio ya no es válido. Actualice el precio antes de pagar.',
    renewPriceAgain:
      'Consulte su billetera antes de volver a pagar. Si todavía muestra ese pago como enviado, espere. Si no, actualice primero el precio.',
    undecided: (arrived) =>
      `Han llegado ${arrived} cuando el precio ya no era válido. No vuelva a pagar: espere o consulte a la tienda.`,
    timeIsOver: 'El plazo para pagar ha terminado. Ya no haga ningún pago.',
    wait: 'Su pago ha llegado. No tiene que hacer nada más: el pago está a la espera de su confirmación.',
    done: 'Gracias. No tiene que hacer nada más, y esta página es su recibo.',
    expired: 'Ya no haga ningún pago.',
    expiredWithMoney: (arrived) =>
      `Han llegado ${arrived}, pero no es suficiente. Ya no haga ningún pago: consulte a la tienda, que puede aceptar ese importe o devolvérselo.`,
    expiredAfterFall:
      'El plazo para pagar ha terminado. No vuelva a pagar: solicite a la tienda un pedido nuevo si todavía lo desea.',
    canceled: 'La tienda ha cancelado este pedido. No pague.',
    canceledWithMoney: (arrived) =>
      `La tienda ha cancelado este pedido. Han llegado ${arrived}. Ya no haga ningún pago: pida a la tienda que le devuelva ese importe.`,
    arrived: (arrived) => `Han llegado ${arrived}.`,
    foundByItself:
      'Si ya ha pagado, no tiene que hacer nada: el pago se encontrará automáticamente.',
    fellAway: 'Su pago ha quedado sin efecto: la tienda no lo ha recibido.',
    cameLate:
      'Su pago llegó tarde, así que es posible que la tienda revise el pedido antes de entregarlo.',
    paidTooMuch: (excess) => `Ha pagado ${excess} de más: consulte a la tienda.`,
    tooLittleMissing: (missing) =>
      `Faltan solo ${missing}: demasiado poco para enviarlo. Se pide a la tienda que lo acepte; no tiene que hacer nada.`,
    paidAgain: (excess) =>
      `El pedido ya estaba pagado y llegaron otros ${excess}: pida a la tienda que se los devuelva.`,
    refunded: (amount) => `La tienda devolvió ${amount}.`,
  },
  late: 'Con retraso',
  shortBy: (amount) => `Faltan ${amount}`,
  overBy: (amount) => `Sobran ${amount}`,
  discount: (percent) => `Descuento del ${percent}`,
  surcharge: (percent) => `Recargo del ${percent}`,
  pay: {
    payment: 'Pago',
    openWallet: 'Abrir en una billetera',
    copyAddress: 'Copiar la dirección',
    copyAmount: 'Copiar el importe',
    copyInvoice: 'Copiar la factura Lightning',
    payAgain: 'Pagar de nuevo',
    qrCode: 'Código QR de la dirección y el importe',
    qrCodeOfInvoice: 'Código QR de la factura Lightning',
    qrCodeOfAddress: 'Código QR de la dirección, sin el importe',
    addressAlone: 'Código QR de la dirección sola',
    priceHoldsUntil: (time) => `El precio es válido hasta: ${time}`,
    payUntil: (time) => `Puede pagar hasta: ${time}`,
    timeLeft: 'Tiempo restante:',
    showPriceNow: 'Mostrar el precio actual',
    leaves: (time) => `Volverá a la tienda en ${time}.`,
    backTo: (shop) => `Volver a ${shop}`,
  },
  facts: {
    order: 'Pedido',
    description: 'Descripción',
    reference: 'Referencia',
    amount: 'Importe',
    price: 'Precio',
    rate: 'Cotización',
    received: 'Recibido',
    overBy: 'Pagado de más',
    ordered: 'Pedido el',
    paid: 'Pagado el',
    payments: 'Pagos',
    payment: 'Pago',
    state: 'Estado',
    seen: 'Detectado el',
    transaction: 'Transacción',
    address: 'A la dirección',
    confirmations: 'Confirmaciones',
    refunded: 'Devuelto',
    shopAddress: 'Tienda',
    contact: 'Contacto de la tienda',
  },
  refund: {
    offered: (amount) =>
      `La tienda devuelve ${amount}. Escriba abajo una dirección de su propia billetera.`,
    prepared: (amount) => `La tienda tiene su dirección y le envía ${amount}.`,
    address: 'Su dirección de Bitcoin',
    hint: 'Cópiela desde «Recibir» en su billetera. Después no se podrá cambiar aquí.',
    send: 'Enviar la dirección a la tienda',
    wrong: 'Esta no es una dirección a la que se pueda pagar. Cópiela de nuevo desde su billetera.',
    own: 'Esta es una dirección de la tienda. Copie una de su propia billetera.',
    states: { prepared: 'En preparación', sent: 'Enviado' },
  },
  claim: {
    title: 'Ya he pagado',
    txid: 'Identificador de la transacción, si su billetera lo muestra',
    ask: 'Buscar mi pago',
    seen: (ago) => `Su pago se vio ${ago}.`,
    seenNow: 'Su pago se vio hace un momento.',
    blocks: (have, need, left) => `Está en ${have} de ${need} bloques: unos ${left} más.`,
    tooLittle: (amount) => `Faltan ${amount}.`,
    elsewhere:
      'Esta transacción paga a otra dirección. Compare la dirección de su billetera con la de esta página.',
    justNow:
      'Esta transacción paga este pedido. Acaba de verse, y esta página la mostrará enseguida.',
    unseen:
      'Nuestros servidores aún no han visto su pago. Si su billetera lo muestra como enviado, vuelva a preguntar en unos minutos.',
    later: 'Ahora no se puede consultar. Vuelva a preguntar en un minuto.',
    wrong: 'Esto no es un identificador de transacción. Tiene 64 cifras y letras de la a a la f.',
    byLightning: 'Su pago por Lightning ha llegado y es definitivo.',
    unpaidInvoice:
      'El nodo Lightning de la tienda aún no lo ha recibido. Si su billetera lo muestra como pagado, vuelva a preguntar en un minuto.',
    foreignInvoice: 'Esta factura no es de este pedido. Compárela con la de esta página.',
  },
  rateOf: (price, bitcoin) => `${price} por ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'Se muestra el pago más reciente. Las sumas los incluyen todos.',
      other: `Se muestran los ${number(shown)} pagos más recientes. Las sumas los incluyen todos.`,
    }),
  receipt: {
    title: 'Recibo',
    seen: 'Su pago se ha detectado. No tiene que hacer nada: el pago está a la espera de su primera confirmación.',
    confirming:
      'Su pago está en un bloque. No tiene que hacer nada: el pago está a la espera de más confirmaciones.',
    confirmed: 'Su pago está confirmado. Esta página es su recibo.',
    gone: 'Su pago ha quedado sin efecto: la tienda no lo ha recibido. Consulte su billetera antes de volver a pagar.',
    toOrder: 'Mostrar el pedido',
    unknown:
      'Aquí no se conoce ese pago. Si lo ha hecho hace un momento, vuelva a cargar esta página dentro de un minuto.',
    unnamed:
      'Este enlace no indica ningún pago: le falta una parte o se ha modificado. Ábralo de nuevo donde lo muestra la tienda.',
  },
  link: {
    pay: 'Pagar',
    payWithBitcoin: 'Pagar con bitcoin',
    amountIn: (currency) => `Importe en ${currency}`,
    suggestions: 'Importes sugeridos',
    atLeast: (least) => `Como mínimo, ${least}`,
    atMost: (most) => `Como máximo, ${most}`,
    between: (least, most) => `De ${least} a ${most}`,
    note: 'Nota para la tienda',
    optional: 'opcional',
    noteHint: 'Una línea, por ejemplo, su nombre o un número.',
    email: 'Correo electrónico (opcional)',
    emailHint:
      'Recibirá un correo cuando se detecte su pago y otro cuando el pedido esté pagado. La tienda también ve la dirección.',
    closed: {
      title: 'Este enlace está cerrado',
      text: 'Aquí ya no se aceptan pagos. No pague: pida otro enlace a la tienda.',
    },
    missingAmount: 'Escriba el importe que desea pagar.',
    wrongAmount: (example) => `Escriba el importe como un número, por ejemplo, ${example}.`,
    tooSmall: (least) =>
      `El importe es demasiado pequeño para un pago con bitcoin. Pague como mínimo ${least}.`,
    missingNote: 'Escriba una nota: la tienda la pide.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'La nota puede tener un carácter como máximo.',
        other: `La nota puede tener ${number(maxCharacters)} caracteres como máximo.`,
      }),
    wrongEmail: (example) =>
      `Escriba una sola dirección de correo, por ejemplo, ${example}, o deje este campo vacío.`,
    manyEmails:
      'Desde su red ya se han indicado tantas direcciones de correo como se permite en un día. Deje este campo vacío: la página de su pedido muestra su pago.',
    privateKey:
      'Esto parece una clave privada o unas palabras de recuperación. No las escriba nunca en una página: quien las tiene, tiene su dinero.',
  },
  till: {
    keypad: 'Teclado numérico',
    deleteDigit: 'Borrar la última cifra',
    wholeUnits: 'Solo unidades enteras',
    charge: 'Cobrar',
    waiting: 'A la espera del pago',
    next: 'Siguiente',
    cancel: 'Cancelar la venta',
    sales: 'Ventas de hoy',
    seen: 'Visto, aún no definitivo',
    letGo: 'Importe pequeño: el cliente puede irse.',
    waitForBlock: 'Pida al cliente que espere una confirmación.',
    offline: 'Este dispositivo está sin conexión. Lo que muestra puede ser antiguo.',
    useAs: (name) => `Usar este dispositivo como ${name}`,
    pair: {
      title: 'Añadir este dispositivo como caja',
      text: 'Puede cobrar y ver sus propias ventas. No ve claves, monederos ni ajustes.',
    },
    noTill: {
      title: 'Este dispositivo no es una caja',
      text: 'Añada una caja en el panel y escanee su código con este dispositivo.',
    },
    codeOver: {
      title: 'Este código ya no vale',
      text: 'Sirve una vez y durante 15 minutos. Cree uno nuevo en el panel.',
    },
    notCanceled: {
      title: 'La venta no se ha cancelado',
      text: 'Está pagada o ha terminado. Mire las ventas de hoy.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'No existe ese pedido',
      text: 'No se conoce nada con este enlace. Ábralo de nuevo donde lo muestra la tienda o consulte a la tienda.',
    },
    unknownLink: {
      title: 'No existe esa página',
      text: 'No se conoce nada con este enlace. Ábralo de nuevo donde lo muestra la tienda o consulte a la tienda.',
    },
    limited: {
      title: 'Espere, por favor',
      text: 'Han llegado demasiadas solicitudes desde su red. Cargue la página dentro de un minuto.',
    },
    foreignForm: {
      title: 'No ha funcionado',
      text: 'Abra la página de nuevo y pulse allí el botón.',
    },
    noPrice: {
      title: 'Ahora mismo no hay precio',
      text: 'No se puede obtener el precio actual. No se ha perdido nada: espere un minuto e inténtelo de nuevo. No pague antes.',
    },
    gap: {
      title: 'Consulte a la tienda, por favor',
      text: 'La tienda no puede aceptar un pago con este enlace en este momento. No pague: consulte a la tienda.',
    },
    network: {
      title: 'Demasiados pedidos sin pagar',
      text: 'Varios pedidos de su red esperan un pago. Pague uno de ellos, use otra red, como los datos móviles, o consulte a la tienda.',
    },
    unexpected: {
      title: 'No ha funcionado',
      text: 'Vuelva a cargar la página dentro de un minuto. Si sigue igual, avise a la tienda.',
    },
    backToOrder: 'Volver al pedido',
    back: 'Volver',
  },
};
