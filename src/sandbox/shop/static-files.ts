// Files for the browser: the stylesheet (Pico CSS and our own rules) and the one script.

import pico from '@picocss/pico/css/pico.classless.min.css?raw';
import script from '../../web/browser/page-refresh.client.js?raw';
import style from './browser/shop-style.css?raw';

export const browserFiles = { style: `${pico}\n${style}`, script } as const;
