// What happened, the oldest first, one below the other.

import { Time } from '../../web/values.tsx';

export interface TimelineEvent {
  readonly at: number;
  readonly text: string;
  readonly tone?: 'good' | 'bad';
}

export const Timeline = ({ events }: { readonly events: readonly TimelineEvent[] }) => (
  <ol class="timeline">
    {events.map(({ at, text, tone }) => (
      <li class={tone}>
        <Time at={at} />
        <span>{text}</span>
      </li>
    ))}
  </ol>
);
