// What the browser is given as files: the stylesheet (Pico CSS and our own look) and the one script. They
// are read from where they lie; a bundle carries their text instead (build.mjs).

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export interface BrowserFiles {
  readonly style: string;
  readonly script: string;
}

/** Put in place of its name by the bundler; there is no such variable otherwise. */
declare const bundledBrowserFiles: BrowserFiles;

export const readFiles = (): BrowserFiles =>
  typeof bundledBrowserFiles === 'undefined' ? readFromFolders() : bundledBrowserFiles;

function readFromFolders(): BrowserFiles {
  const pico = createRequire(import.meta.url).resolve('@picocss/pico/css/pico.classless.min.css');
  const own = (name: string): string =>
    readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8');
  return { style: `${readFileSync(pico, 'utf8')}\n${own('look.css')}`, script: own('live.js') };
}
