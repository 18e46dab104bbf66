// What a page must be in any state and language, at any width, as a real browser shows it. Nothing
// here depends on the words of the page.

import type { Page } from 'playwright-core';
import { colourFunctions, controlsOf, outlines } from './browser.ts';

/**
 * What does not fit: a document wider than its window, an element that is cut off, or one less than
 * 12 px from an edge.
 */
export const overflows = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const found = scrollWidth > clientWidth ? ['the page is ' + scrollWidth + ' px wide'] : [];
    for (const each of document.querySelectorAll('main, main *')) {
      if (!each.checkVisibility() || each.closest('svg *') !== null) continue;
      const name = each.nodeName + (each.id && '#' + each.id);
      const { left, right, width } = each.getBoundingClientRect();
      if (width > 0 && (left < 12 || right > clientWidth - 12))
        found.push(name + ' from ' + Math.round(left) + ' to ' + Math.round(right));
      if (getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth)
        found.push(name + ' is cut off');
    }
    return found;
  })()`);

/** What is visible and of no use on paper; a code is scanned from it. */
export const unprintable = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('form, button, input, select, summary, svg:not(.qr), .button, nav')]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .map(({ outerHTML }) => outerHTML.slice(0, 80))`);

/** Texts that are faint on white paper, and backgrounds that are not white. */
export const faintOnPaper = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    ${colourFunctions}
    const isText = ({ nodeType, data }) => nodeType === 3 && data.trim() !== '';
    return [...document.querySelectorAll('body, body *')].filter((each) => each.checkVisibility())
      .flatMap((each) => {
        const { color, backgroundColor } = getComputedStyle(each);
        const isFaint = [...each.childNodes].some(isText) && contrastOf(color, '#fff') < 4.5;
        const isInked = channels(backgroundColor)[3] > 0 && contrastOf(backgroundColor, '#fff') > 1.3;
        const name = each.nodeName + ' ' + each.textContent.trim().slice(0, 30) + ' ';
        return [...(isFaint ? [name + color] : []), ...(isInked ? [name + backgroundColor] : [])];
      });
  })()`);

/** A page that says another language or direction than it was asked for in. */
export const languageFaults = (page: Page, language: string): Promise<string[]> =>
  page.evaluate(`(() => {
    const { lang, dir } = document.documentElement;
    const { direction } = getComputedStyle(document.body);
    const wanted = '${language}' === 'ar' ? 'rtl' : 'ltr';
    const isRight = lang === '${language}' && (dir || 'ltr') === wanted && direction === wanted;
    return isRight ? [] : ['lang ' + lang + ', dir ' + dir];
  })()`);

/** The Tab key reaches each control once, in order, and shows where it is. */
export async function keyboardFaults(page: Page): Promise<string[]> {
  const controls = await controlsOf(page);
  const stops = await outlines(page, controls.length);
  const names = stops.map(({ name }) => name);
  return [
    ...(String(names) === String(controls) ? [] : [`reached ${names}, not ${controls}`]),
    ...stops
      .filter(({ width, contrast }) => width < 2 || contrast < 3)
      .map(({ name, width, contrast }) => `${name}: ${width} px, ${contrast.toFixed(1)}:1`),
  ];
}
