// Links: what a merchant enters for one, and what its payer enters.

/** Whether a payer enters a note: never, if they like, or always. */
export type NoteRule = 'no' | 'optional' | 'required';

/** How the page of a link looks: a form for a customer, or the keypad of a till. */
export type LinkView = 'page' | 'till';
