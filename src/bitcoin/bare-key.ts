// What is said of a text that should be an extended public key and does not look like one.

import { rejectPrivateMaterial, resemblesSecret } from './private-material.ts';
import { refuse } from './refuse.ts';

/** Refuses by its looks what is not one bare key, secrets before all else. */
export function requireBareKey(text: string): void {
  if (!/^[xyztuv]pub/i.test(text) && resemblesSecret(text)) rejectPrivateMaterial();
  if (text === '') refuse('no wallet key given: paste an xpub, ypub or zpub');
  if (
    /^(bitcoin:)?((bc|tb|bcrt)1[a-z0-9]{20,90}|[123mn][1-9A-HJ-NP-Za-km-z]{25,34})(\?.*)?$/i.test(
      text,
    )
  ) {
    refuse(
      'this is an address; paygate needs the public key that all addresses of the wallet come from: ' +
        'its xpub, ypub or zpub',
    );
  }
  if (/^(ur:|B\$)/i.test(text)) {
    refuse(
      'this is the text of a QR code that only wallets read; export the account of the wallet as an xpub, ' +
        'an output descriptor or a file',
    );
  }
  if (/^QklFM/.test(text)) {
    refuse(
      'this is an encrypted wallet file of Electrum; export the ' +
        'master public key instead (Wallet, Information)',
    );
  }
  if (/^(\.{0,2}[/\\]|~\/|[a-z]:\\)\S+$|^\S+\.(json|txt|csv|dat|pdf)$/i.test(text)) {
    refuse('this is the name of a file: give what stands in it, as with --xpub - < FILE');
  }
  const isWords = /^[^\s]*\s+\S/.test(text);
  if (isWords && !/[xyztuv]pub/i.test(text)) {
    refuse('this is neither an extended public key nor an output descriptor, nor a file with one');
  }
  if (/[)[\]/*,]/.test(text)) {
    refuse(
      'this is not a key alone, nor one with its origin and path, such as [fingerprint/84h/0h/0h]xpub…/0/*: ' +
        'copy it again, or give the output descriptor of the wallet',
    );
  }
  if (/\s/u.test(text)) {
    refuse('there is white space inside the wallet key: remove it');
  }
}
