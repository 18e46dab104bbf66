// Passwords that every way to set one must refuse, for words of the product alone or repeated.

export const guessablePasswords = [
  'paygate paygate paygate',
  'paygatepaygatepaygate',
  'bitcoin bitcoin bitcoin',
  'paygate-paygate-paygate',
  'paygate bitcoin dashboard',
  'merchant dashboard admin',
  'tulip shop tulip shop',
  'password password password',
] as const;
