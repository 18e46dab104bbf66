// The cards of the first page: what came in during three periods, each compared with the one
// before, and what is still open.

import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { sumSat } from '../../domain/payment/money.ts';
import { formatCount } from '../../domain/text/format.ts';
import { formatDay } from '../../domain/text/time-zone.ts';
import { countText } from '../../status/findings.ts';
import { hasReceivers } from '../../store/delivery/receivers.ts';
import { maxUnconfirmed, type Received } from '../../store/payments/received-view.ts';
import { Amount } from '../../web/values.tsx';
import { chartDays, type DailySums, total } from '../daily-sums.ts';
import { base, isViewer, type PageRequest } from '../page.ts';
import { worthTexts } from './fiat-worth.tsx';

interface ReceivedCardsProps {
  readonly sums: DailySums;
  readonly today: number;
}

export function ReceivedCards({ sums, today }: ReceivedCardsProps) {
  const until = (last: number, count: number): Received =>
    total(Array.from({ length: count }, (_, place) => sums.ofDay(last - place)));
  const card = (name: string, days: number, against: string, before: Received) => (
    <ReceivedCard
      name={name}
      path={`/payments?state=confirmed&from=${formatDay(today - days + 1)}`}
      sum={until(today, days)}
      before={before}
      against={against}
    />
  );
  return (
    <>
      {card('Today', 1, 'than yesterday by this time', sums.ofYesterdayUntilNow())}
      {card('7 days', 7, 'than the 7 days before', until(today - 7, 7))}
      {card(
        `${chartDays} days`,
        chartDays,
        `than the ${chartDays} days before`,
        until(today - chartDays, chartDays),
      )}
    </>
  );
}

interface ReceivedCardProps {
  readonly name: string;
  readonly path: string;
  readonly sum: Received;
  readonly before: Received;
  /** What it is compared with, after "12 % more". */
  readonly against: string;
}

const ReceivedCard = ({ name, path, sum, before, against }: ReceivedCardProps) => {
  const texts = worthTexts(sum);
  const unpricedSat = sum.valueSat - sumSat(sum.worths.map(({ valueSat }) => valueSat));
  return (
    <section class="card">
      <h2>
        <a class="whole" href={base + path}>
          {name}
        </a>
      </h2>
      {texts.length === 0 ? (
        <p class="figure">
          <Amount sat={sum.valueSat} />
        </p>
      ) : (
        <>
          {texts.map((text) => (
            <p class="figure">{text}</p>
          ))}
          <p>
            <Amount sat={sum.valueSat} />
          </p>
        </>
      )}
      {texts.length > 0 && unpricedSat > 0 ? (
        <p class="quiet">
          <Amount sat={unpricedSat} /> of it without a price
        </p>
      ) : null}
      <p class="quiet">
        {formatCount(sum.count, 'payment')}
        {changeText(sum, before, against)}
      </p>
    </section>
  );
};

/** The change in the currency of most payments, or in bitcoins without one. */
function changeText(sum: Received, before: Received, against: string): string {
  const [worth] = sum.worths;
  const previous = before.worths.find(({ currency }) => currency === worth?.currency);
  const [now, then] =
    worth === undefined || previous === undefined
      ? [sum.valueSat, before.valueSat]
      : [worth.minor, previous.minor];
  if (then === 0) return '';
  const percent = Math.round((100 * (now - then)) / then);
  if (percent === 0) return `, no more and no less ${against}`;
  return `, ${Math.abs(percent).toLocaleString('en')} % ${percent > 0 ? 'more' : 'less'} ${against}`;
}

export const OpenCards = ({ request }: { readonly request: PageRequest }) => {
  const { records } = request.parts;
  const { receivedView, outbox, webhooks } = records;
  const { count, valueSat } = receivedView.unconfirmed();
  const isAll = count < maxUnconfirmed;
  const isPossible = valueSat < maxMoneySat;
  return (
    <>
      <section class="card">
        <h2>
          <a class="whole" href={`${base}/payments?state=open`}>
            Unconfirmed
          </a>
        </h2>
        <p class="figure">
          {isAll ? <Amount sat={valueSat} /> : `${maxUnconfirmed.toLocaleString('en')} or more`}
          {isAll && !isPossible ? ' or more' : ''}
        </p>
        <p class="quiet">{isAll ? formatCount(count, 'payment') : 'payments'}</p>
        {isPossible ? null : (
          <p class="bad">More than all bitcoins: a server reports payments that do not exist.</p>
        )}
      </section>
      {hasReceivers(records) && !isViewer(request) ? (
        <UndeliveredCard
          queues={[
            ['callback', '/callbacks', outbox.counts()],
            ['event', '/events', webhooks.counts()],
          ]}
        />
      ) : null}
    </>
  );
};

interface UndeliveredCardProps {
  readonly queues: readonly (readonly [
    noun: string,
    path: string,
    counts: { readonly owed: number; readonly exhausted: number },
  ])[];
}

const UndeliveredCard = ({ queues }: UndeliveredCardProps) => {
  const [first] = queues;
  const most = queues.find(([, , { owed, exhausted }]) => owed + exhausted > 0) ?? first;
  const sum = (which: 'owed' | 'exhausted') =>
    queues.reduce((all, [, , counts]) => all + counts[which], 0);
  const failed = sum('exhausted');
  const state = failed > 0 ? 'exhausted' : 'owed';
  return (
    <section class="card">
      <h2>
        <a class="whole" href={`${base}${most?.[1]}?state=${state}`}>
          Undelivered
        </a>
      </h2>
      <p class="figure">{countText(sum('owed') + failed)}</p>
      <p class="quiet">
        {countText(sum('owed'))} waiting,{' '}
        <span class={failed > 0 ? 'bad' : undefined}>{countText(failed)} failed</span>
      </p>
    </section>
  );
};
