// Pictures of each state of the customer's page, docs/img/checkout-*.png, and of the pages of links,
// docs/img/link-*.png. The orders are those of a running sandbox. Called by screenshots.mjs.

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{ shop: string, key: string, api: string }} Links */
/** @typedef {(page: Page, name: string, url: string) => Promise<void>} Save */

/** A phone: the page is made for it. */
const viewport = { width: 390, height: 640 };

/**
 * @param {import('playwright-core').Browser} browser
 * @param {Links} links
 * @param {Save} save
 */
export async function shootCheckout(browser, links, save) {
  const light = await browser.newContext({ viewport, colorScheme: 'light' });
  const dark = await browser.newContext({ viewport, colorScheme: 'dark' });
  const [shop, page, night] = [await light.newPage(), await light.newPage(), await dark.newPage()];
  /** @type {(state: string, url: string) => Promise<void>} */
  const shoot = (state, url) => save(page, `checkout-${state}`, url);
  /** @type {(name: string) => Promise<void>} */
  const press = (name) => shop.getByRole('button', { name }).click();

  const paid = await order(shop, links.shop);
  await shoot('open', paid);
  await save(night, 'checkout-open-ar', `${paid}?lang=ar`);
  await press('Too little');
  await says(page, paid, 'arrived. Pay the missing');
  await shoot('part-paid', paid);
  await press('Pay exactly');
  await says(page, paid, 'Your payment arrived');
  await shoot('processing', paid);
  await press('Mine 6 blocks');
  await says(page, paid, 'this page is your receipt');
  await shoot('paid', paid);
  await page.locator('.payment a').first().click();
  await shoot('receipt', page.url());

  const fallen = await order(shop, links.shop);
  await press('Pay exactly');
  await says(page, fallen, 'Your payment arrived');
  await press('Double-spend');
  await says(page, fallen, 'Your payment fell away');
  await shoot('fallen', fallen);

  const canceled = await post(links, '/orders', { amount: '12.50', currency: 'EUR' });
  await post(links, `/orders/${canceled.id}/cancel`, {});
  await shoot('canceled', canceled.page_url);

  // The end of the next order is the end of the price of this one, too.
  const lapsed = await post(links, '/orders', { amount: '12.50', currency: 'EUR', expires_in: 0 });
  const expired = await order(shop, links.shop);
  await press('Let the order expire');
  await says(page, expired, 'Do not pay any more');
  await shoot('expired', expired);
  await shoot('lapsed', lapsed.page_url);
  await press('Pay exactly');
  await says(page, expired, 'payment came late');
  await shoot('late', expired);
}

/**
 * A donation page, and a till with its order.
 * @param {import('playwright-core').Browser} browser
 * @param {Links} links
 * @param {Save} save
 */
export async function shootLinks(browser, links, save) {
  const context = await browser.newContext({ viewport, colorScheme: 'light' });
  const page = await context.newPage();
  const tips = await post(links, '/links', {
    ...{ title: 'Seeds for the garden', description: 'Every euro buys seeds.' },
    ...{ currency: 'EUR', min: '1', suggested: ['5', '10', '25'], note: 'optional' },
  });
  await save(page, 'link-donation', tips.url);
  const till = await post(links, '/links', { title: 'Counter', currency: 'EUR', view: 'till' });
  await save(page, 'link-till', till.url);
  await page.getByLabel('Amount in EUR').fill('12.50');
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByText('Waiting for payment').waitFor();
  await save(page, 'link-till-order', page.url());
}

/**
 * Orders a thing in the demo shop, whose page stays open.
 * @param {Page} page
 * @param {string} shop
 * @returns {Promise<string>} the page for the customer
 */
async function order(page, shop) {
  await page.goto(shop);
  await page.getByLabel('Poster').fill('1');
  await page.getByRole('button', { name: 'Order' }).click();
  const link = await page.getByRole('link', { name: 'Pay', exact: true }).getAttribute('href');
  if (link === null) throw new Error('the shop shows no page for the customer');
  return link;
}

/**
 * @param {Page} page
 * @param {string} url
 * @param {string} text
 */
async function says(page, url, text) {
  await page.goto(url);
  await page.getByText(text).first().waitFor({ timeout: 90_000 });
}

/**
 * @param {Links} links
 * @param {string} path
 * @param {object} body
 * @returns {Promise<{ id: string, page_url: string, url: string }>}
 */
async function post({ api, key }, path, body) {
  const response = await fetch(`${api}/api/v3${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return /** @type {Promise<any>} */ (response.json());
}
