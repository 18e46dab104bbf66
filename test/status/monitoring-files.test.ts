// The alert rules of packaging/prometheus and the dashboard of packaging/grafana. Every series that
// they name exists in /metrics, each panel has one unit, and Prometheus's own tool accepts the
// queries and runs alerts.test.yml.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { scrape } from '../support/metrics.ts';
import { openPriced } from '../support/priced.ts';

const rulesPath = 'packaging/prometheus/paygate.rules.yml';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly fieldConfig: {
    readonly defaults: { readonly unit: string };
    readonly overrides: readonly unknown[];
  };
  readonly targets: readonly { readonly expr: string }[];
}

const rules: Rule[] = parse(readFileSync(rulesPath, 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const dashboard = JSON.parse(readFileSync('packaging/grafana/paygate.json', 'utf8'));
const panels: Panel[] = dashboard.panels.filter(({ type }: Panel) => type !== 'row');
const queriesOf = ({ targets }: Panel): string[] => targets.map(({ expr }) => expr);

/** /metrics of a paygate with an order, a payment that replaced another, and its deliveries. */
let samples: string[];

beforeAll(async () => {
  const app = await openPriced({ config: { metricsListen: { host: '127.0.0.1', port: 0 } } });
  const webhookUrl = `${app.receiver.origin}/hook`;
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { webhookUrl, webhookEvents: 'payment' })),
  );
  await app.order({ amount: '10', currency: 'EUR' });
  const txid = app.pay(await app.newAddress(), 5_000);
  await app.settle();
  app.chain.replace(txid as Txid);
  app.chain.mine();
  await app.settle();
  samples = (await scrape(app)).split('\n').filter((line) => !/^(#|$)/.test(line));
});

afterAll(async () => {
  await closeApps();
  await cleanUp();
});

interface Selector {
  readonly name: string;
  readonly matchers: string;
}

/** The series that a query names. */
const selectorsOf = (query: string): Selector[] =>
  [...query.matchAll(/\b((?:paygate|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({ name, matchers }),
  );

/** Whether a label of a sample matches. Prometheus itself adds `job` and `instance`. */
function isMatching(sample: string, label: string, operator: string, wanted: string): boolean {
  if (label === 'job' || label === 'instance') return true;
  const [, value = ''] = new RegExp(`\\b${label}="([^"]*)"`).exec(sample) ?? [];
  const isEqual = operator.includes('~')
    ? new RegExp(`^(?:${wanted})$`).test(value)
    : value === wanted;
  return operator.startsWith('!') ? !isEqual : isEqual;
}

const samplesOf = ({ name, matchers }: Selector): string[] =>
  samples.filter((sample) => {
    const hasName = sample.startsWith(`${name}{`) || sample.startsWith(`${name} `);
    const all = [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)];
    return hasName && all.every(([, ...each]) => isMatching(sample, ...triple(each)));
  });

const triple = ([label = '', operator = '', wanted = '']: string[]) =>
  [label, operator, wanted] as const;

const missingIn = (query: string): Selector[] =>
  selectorsOf(query).filter((selector) => samplesOf(selector).length === 0);

/** Each alternative of a matcher is a value that occurs. */
const unknownValuesIn = (query: string): string[] =>
  selectorsOf(query).flatMap(({ name, matchers }) =>
    [...matchers.matchAll(/(\w+)(?:=~|!~)"([^"$]*)"/g)].flatMap(([, label, wanted = '']) =>
      wanted.split('|').filter((value) => {
        const matcher = `${label}="${value}"`;
        return samplesOf({ name, matchers: matcher }).length === 0;
      }),
    ),
  );

/** The unit that a query has, by the name of its metrics. */
function unitOf(query: string): string {
  if (/_seconds_total/.test(query)) return 'percentunit';
  if (/_seconds(_bucket)?\{/.test(query)) return 's';
  if (/_bytes\{/.test(query)) return 'bytes';
  return /_satoshis_total/.test(query) ? 'suffix: sat' : 'short';
}

describe('packaging/grafana', () => {
  test.each(panels)('$title: existing series, one unit', (panel) => {
    const queries = queriesOf(panel);
    expect(queries.flatMap(missingIn)).toEqual([]);
    expect(new Set(queries.map(unitOf))).toEqual(new Set([panel.fieldConfig.defaults.unit]));
    // An override could give a series another unit or a second axis.
    expect(panel.fieldConfig.overrides).toEqual([]);
  });

  test('no panel covers another', () => {
    const cells = dashboard.panels.flatMap(
      ({ gridPos: { x, y, w, h } }: { gridPos: Record<'x' | 'y' | 'w' | 'h', number> }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

describe('packaging/prometheus', () => {
  test.each(rules)('$alert: existing series, a summary and a runbook', (rule) => {
    expect(missingIn(rule.expr)).toEqual([]);
    expect(unknownValuesIn(rule.expr)).toEqual([]);
    expect(['critical', 'warning']).toContain(rule.labels.severity);
    for (const text of Object.values(rule.annotations)) expect(text).toMatch(/^\S.{10,}\.$/);
    expect(Object.keys(rule.annotations).sort()).toEqual(['runbook', 'summary']);
  });

  test('each grave finding raises exactly one alert by its code, or by its own metric', () => {
    const elsewhere = ['promotion-held', 'exhausted-callbacks'];
    const raised = rules.flatMap(({ expr }) => selectorsOf(expr).flatMap(samplesOf));
    const errors = samples.filter((sample) => sample.includes('severity="error"'));
    expect(errors.length).toBeGreaterThan(15);
    for (const sample of errors) {
      const isElsewhere = elsewhere.some((code) => sample.includes(`code="${code}"`));
      const count = raised.filter((each) => each === sample).length;
      expect([sample, count]).toEqual([sample, isElsewhere ? 0 : 1]);
    }
  });

  test('docs/monitoring.md lists every alert', () => {
    const page = readFileSync('docs/monitoring.md', 'utf8');
    expect(rules.filter(({ alert }) => !page.includes(`\`${alert}\``))).toEqual([]);
  });
});

/** Why promtool cannot be run here; undefined if it can. */
function noPromtool(): string | undefined {
  const { status } = spawnSync('promtool', ['--version']);
  return status === 0 ? undefined : 'there is no promtool (Debian: prometheus)';
}

const promtool = (...args: string[]): string =>
  execFileSync('promtool', args, { encoding: 'utf8', stdio: 'pipe' });

const missingTool = noPromtool();
if (missingTool !== undefined) {
  process.stdout.write(`monitoring files: ${missingTool}, 3 tests skipped\n`);
}

describe.skipIf(missingTool !== undefined)('promtool', () => {
  test('accepts the rules', () => {
    expect(promtool('check', 'rules', rulesPath)).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  test('runs the cases of alerts.test.yml', () => {
    expect(promtool('test', 'rules', 'test/status/alerts.test.yml')).toContain('SUCCESS');
    const cases = readFileSync('test/status/alerts.test.yml', 'utf8');
    expect(rules.filter(({ alert }) => !cases.includes(`alertname: ${alert}\n`))).toEqual([]);
  });

  test('accepts the queries of the dashboard', () => {
    const queries = panels.flatMap(queriesOf).map((query, at) => ({
      record: `query:${at}`,
      expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
    }));
    const file = join(tempFolder(), 'queries.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'grafana', rules: queries }] }));
    expect(promtool('check', 'rules', file)).toContain(`SUCCESS: ${queries.length} rules found`);
  });
});
