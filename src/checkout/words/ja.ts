// The texts of the pages for customers, in Japanese. It has one plural form.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number } = formatsOf('ja');

export const ja: Words = {
  language: '言語',
  languageIs: (name) => `言語：${name}`,
  copied: 'コピーしました',
  orderStates: {
    open: 'お支払い待ち',
    processing: '処理中',
    paid: '支払い済み',
    expired: '期限切れ',
    canceled: 'キャンセル済み',
  },
  paymentStates: {
    seen: '検出済み',
    confirming: '承認待ち',
    confirmed: '承認済み',
    gone: '無効',
  },
  now: {
    pay: 'ウォレットでコードを読み取るか、下のボタンでウォレットを開いて、表示の金額を送金してください。',
    payMissing: (arrived, missing) =>
      `${arrived}が届きました。不足分の${missing}を同じアドレスにお支払いください。`,
    payAgain:
      'もう一度お支払いになる前に、ウォレットをご確認ください。前のお支払いがまだ送金済みと表示されている場合は、そのままお待ちください。',
    renewPrice: 'この価格は無効になりました。お支払いの前に、現在の価格を表示してください。',
    renewPriceAgain:
      'もう一度お支払いになる前に、ウォレットをご確認ください。前のお支払いがまだ送金済みと表示されている場合は、そのままお待ちください。そうでない場合は、まず現在の価格を表示してください。',
    undecided: (arrived) =>
      `価格の期限が切れた後に${arrived}が届きました。もう一度お支払いにならないでください。そのままお待ちいただくか、ショップにお問い合わせください。`,
    timeIsOver: 'お支払いの期限が過ぎました。もうお支払いにならないでください。',
    wait: 'お支払いが届きました。これ以上の操作は必要ありません。現在、承認を待っています。',
    done: 'ありがとうございます。これ以上の操作は必要ありません。このページが領収書になります。',
    expired: 'もうお支払いにならないでください。',
    expiredWithMoney: (arrived) =>
      `${arrived}が届きましたが、金額が足りません。もうお支払いにならないでください。ショップにお問い合わせください。ショップはこの金額を受け取るか、返金することができます。`,
    expiredAfterFall:
      'お支払いの期限が過ぎました。もう一度お支払いにならないでください。引き続きご希望の場合は、ショップに新しい注文をご依頼ください。',
    canceled: 'ショップがこの注文をキャンセルしました。お支払いにならないでください。',
    canceledWithMoney: (arrived) =>
      `ショップがこの注文をキャンセルしました。${arrived}が届いています。もうお支払いにならないでください。ショップに返金をご依頼ください。`,
    arrived: (arrived) => `${arrived}が届きました。`,
    foundByItself:
      'すでにお支払いになった場合、操作は必要ありません。お支払いは自動的に検出されます。',
    fellAway: 'お支払いは無効になりました。ショップには届いていません。',
    cameLate:
      'お支払いが遅れて届いたため、ショップは商品をお渡しする前に注文を確認することがあります。',
    paidTooMuch: (excess) =>
      `お支払いが${excess}多すぎました。この件はショップにお問い合わせください。`,
    tooLittleMissing: (missing) =>
      `不足は ${missing} のみで、送金するには少なすぎます。ショップに承認を依頼しますので、お手続きは必要ありません。`,
    paidAgain: (excess) =>
      `ご注文はすでにお支払い済みですが、さらに ${excess} が届きました。返金についてはショップにお問い合わせください。`,
    refunded: (amount) => `ショップは ${amount} を返金しました。`,
  },
  late: '期限後',
  shortBy: (amount) => `${amount}不足`,
  overBy: (amount) => `${amount}超過`,
  discount: (percent) => `${percent}割引`,
  surcharge: (percent) => `${percent}の追加料金`,
  pay: {
    payment: 'お支払い',
    openWallet: 'ウォレットで開く',
    copyAddress: 'アドレスをコピー',
    copyAmount: '金額をコピー',
    copyInvoice: 'Lightningインボイスをコピー',
    payAgain: 'もう一度支払う',
    qrCode: 'アドレスと金額のQRコード',
    qrCodeOfInvoice: 'LightningインボイスのQRコード',
    qrCodeOfAddress: '金額を含まないアドレスのQRコード',
    addressAlone: 'アドレスだけのQRコード',
    priceHoldsUntil: (time) => `価格の有効期限：${time}`,
    payUntil: (time) => `お支払い期限：${time}`,
    timeLeft: '残り時間：',
    showPriceNow: '現在の価格を表示',
    leaves: (time) => `${time}後にショップに戻ります。`,
    backTo: (shop) => `${shop}に戻る`,
  },
  facts: {
    order: '注文',
    description: '説明',
    reference: '参照番号',
    amount: '金額',
    price: '価格',
    rate: 'レート',
    received: '受取額',
    overBy: '超過額',
    ordered: '注文日時',
    paid: '支払い日時',
    payments: 'お支払い一覧',
    payment: 'お支払い',
    state: '状態',
    seen: '検出日時',
    transaction: 'トランザクション',
    address: '送金先アドレス',
    confirmations: '承認数',
    refunded: '返金済み',
    shopAddress: 'ショップ',
    contact: 'ショップの連絡先',
  },
  refund: {
    offered: (amount) =>
      `ショップが${amount}を返金します。ご自分のウォレットのアドレスを下に入力してください。`,
    prepared: (amount) =>
      `ショップはアドレスを受け取りました。そのアドレスに${amount}を送金します。`,
    address: 'あなたのビットコインアドレス',
    hint: 'ウォレットの「受取」からコピーしてください。後からここで変更することはできません。',
    send: 'アドレスをショップに送信',
    wrong:
      'これはお支払いを受け取れるアドレスではありません。ウォレットからもう一度コピーしてください。',
    own: 'これはショップのアドレスです。ご自分のウォレットのアドレスをコピーしてください。',
    states: { prepared: '準備中', sent: '送金済み' },
  },
  claim: {
    title: '支払い済みです',
    txid: 'トランザクションID（ウォレットに表示されている場合）',
    ask: '支払いを探す',
    seen: (ago) => `お支払いは${ago}に検出されました。`,
    seenNow: 'お支払いはたった今検出されました。',
    blocks: (have, need, left) =>
      `${need}ブロックのうち${have}ブロックに入っています。あと約${left}です。`,
    tooLittle: (amount) => `${amount}不足しています。`,
    elsewhere:
      'このトランザクションは別のアドレスに支払っています。ウォレットのアドレスをこのページのものと比べてください。',
    justNow:
      'このトランザクションはこの注文へのお支払いです。たった今検出され、まもなくこのページに表示されます。',
    unseen:
      'サーバーはまだお支払いを検出していません。ウォレットに送金済みと表示されている場合は、数分後にもう一度お試しください。',
    later: '現在は確認できません。1分後にもう一度お試しください。',
    wrong: 'これはトランザクションIDではありません。IDは64桁の数字とaからfの文字です。',
    byLightning: 'Lightningでのお支払いが届き、確定しました。',
    unpaidInvoice:
      'ショップのLightningノードはまだお支払いを受け取っていません。ウォレットに支払い済みと表示されている場合は、1分後にもう一度お試しください。',
    foreignInvoice:
      'このインボイスはこの注文のものではありません。このページのものと比べてください。',
  },
  rateOf: (price, bitcoin) => `${bitcoin}あたり${price}`,
  newestPayments: (shown) =>
    `最新のお支払い${number(shown)}件を表示しています。合計にはすべてが含まれます。`,
  receipt: {
    title: '領収書',
    seen: 'お支払いが検出されました。操作は必要ありません。現在、最初の承認を待っています。',
    confirming:
      'お支払いはブロックに取り込まれました。操作は必要ありません。現在、さらに承認を待っています。',
    confirmed: 'お支払いは承認されました。このページが領収書になります。',
    gone: 'お支払いは無効になりました。ショップには届いていません。もう一度お支払いになる前に、ウォレットをご確認ください。',
    toOrder: '注文を表示',
    unknown:
      'このお支払いは見つかりません。つい先ほどお支払いになった場合は、1分後にこのページを再読み込みしてください。',
    unnamed:
      'このリンクはどのお支払いも示していません。一部が欠けているか、変更されています。ショップの表示からもう一度開いてください。',
  },
  link: {
    pay: '支払う',
    payWithBitcoin: 'ビットコインで支払う',
    amountIn: (currency) => `金額（${currency}）`,
    suggestions: '金額の候補',
    atLeast: (least) => `${least}以上`,
    atMost: (most) => `${most}以下`,
    between: (least, most) => `${least}以上${most}以下`,
    note: 'ショップへのメモ',
    optional: '任意',
    noteHint: 'お名前や番号などを1行で入力できます。',
    email: 'メールアドレス（任意）',
    emailHint:
      'お支払いを検出したときと、ご注文のお支払いが完了したときに、メールをお送りします。このアドレスはショップにも表示されます。',
    closed: {
      title: 'このリンクは終了しました',
      text: 'ここではお支払いの受付を終了しました。お支払いにならないでください。ショップに別のリンクをご依頼ください。',
    },
    missingAmount: 'お支払いになる金額を入力してください。',
    wrongAmount: (example) => `金額は${example}のような数字で入力してください。`,
    tooSmall: (least) =>
      `ビットコインでのお支払いには金額が小さすぎます。${least}以上をお支払いください。`,
    missingNote: 'メモを入力してください。ショップが必要としています。',
    longNote: (maxCharacters) => `メモは${number(maxCharacters)}文字以内で入力してください。`,
    wrongEmail: (example) =>
      `メールアドレスを${example}のように1つだけ入力するか、この欄を空のままにしてください。`,
    manyEmails:
      'お使いのネットワークから1日に入力できるメールアドレスの数に達しました。この欄は空のままにしてください。お支払いはご注文のページで確認できます。',
    privateKey:
      'これは秘密鍵またはリカバリーフレーズのようです。どのページにも決して入力しないでください。それを知る人は、あなたの資金を手に入れられます。',
  },
  till: {
    keypad: 'テンキー',
    deleteDigit: '最後の数字を削除',
    wholeUnits: '整数のみ',
    charge: '請求する',
    waiting: 'お支払い待ち',
    next: '次へ',
    cancel: '販売を取り消す',
    sales: '今日の販売',
    seen: '検出済み（未確定）',
    letGo: '少額のため、お客様はお帰りいただけます。',
    waitForBlock: 'お客様には承認までお待ちいただいてください。',
    offline: 'この端末はオフラインです。表示が古い場合があります。',
    useAs: (name) => `この端末を${name}として使う`,
    pair: {
      title: 'この端末をレジとして追加',
      text: '請求と、この端末の販売の確認ができます。鍵、ウォレット、設定は見えません。',
    },
    noTill: {
      title: 'この端末はレジではありません',
      text: 'ダッシュボードでレジを追加し、そのコードをこの端末で読み取ってください。',
    },
    codeOver: {
      title: 'このコードは無効です',
      text: '使えるのは15分以内に一度だけです。ダッシュボードで新しく作成してください。',
    },
    notCanceled: {
      title: '販売は取り消されていません',
      text: '支払い済みか、終了しています。今日の販売をご確認ください。',
    },
  },
  errors: {
    unknownOrder: {
      title: '注文が見つかりません',
      text: 'このリンクに該当するものはありません。ショップの表示からもう一度開くか、ショップにお問い合わせください。',
    },
    unknownLink: {
      title: 'ページが見つかりません',
      text: 'このリンクに該当するものはありません。ショップの表示からもう一度開くか、ショップにお問い合わせください。',
    },
    limited: {
      title: 'しばらくお待ちください',
      text: 'お使いのネットワークからのリクエストが多すぎます。1分後にページを読み込んでください。',
    },
    foreignForm: {
      title: '操作が完了しませんでした',
      text: 'ページをもう一度開いて、そのページのボタンを押してください。',
    },
    noPrice: {
      title: '現在、価格がありません',
      text: '現在の価格を取得できません。何も失われていません。1分待ってから、もう一度お試しください。それまではお支払いにならないでください。',
    },
    gap: {
      title: 'ショップにお問い合わせください',
      text: 'ショップは現在、このリンクではお支払いを受け付けられません。お支払いにならず、ショップにお問い合わせください。',
    },
    network: {
      title: '未払いの注文が多すぎます',
      text: 'お使いのネットワークからの複数の注文がお支払いを待っています。そのいずれかをお支払いになるか、モバイルデータなど別のネットワークをお使いになるか、ショップにお問い合わせください。',
    },
    unexpected: {
      title: '操作が完了しませんでした',
      text: '1分後にページを再読み込みしてください。解決しない場合は、ショップにお知らせください。',
    },
    backToOrder: '注文に戻る',
    back: '戻る',
  },
};
