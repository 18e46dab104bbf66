// The wordmark of paygate: the icon and the name, drawn as SVG in the colour of the text.

import { raw } from 'hono/html';
import wordmark from './browser/wordmark.svg?raw';

export const Wordmark = () => <span class="wordmark">{raw(wordmark)}</span>;
