// A temporary outage of the simulated Electrum server: it closes its connections and refuses new
// ones until the outage ends.

import type { Cancel, World } from '../../world/world.ts';
import type { SimulatedServer } from '../electrum/simulated-server.ts';

export class Outage {
  readonly #server: SimulatedServer;
  readonly #world: Pick<World, 'now' | 'after'>;
  readonly #onChange: () => void;
  #end: (() => void) | undefined;
  #endsAt = 0;

  /** @param onChange called when an outage begins or ends */
  constructor(server: SimulatedServer, world: Pick<World, 'now' | 'after'>, onChange: () => void) {
    this.#server = server;
    this.#world = world;
    this.#onChange = onChange;
  }

  /** End of the outage, epoch milliseconds; undefined while the server is up. */
  get endsAt(): number | undefined {
    return this.#end && this.#endsAt;
  }

  /** Begins an outage, or restarts the current one. */
  begin(lengthMs: number): void {
    this.#end?.();
    const heal = this.#server.inject({ kind: 'refuse' });
    this.#server.disconnectAll();
    const cancel: Cancel = this.#world.after(lengthMs, () => this.end());
    this.#endsAt = this.#world.now() + lengthMs;
    this.#end = () => {
      cancel();
      heal();
    };
    this.#onChange();
  }

  end(): void {
    if (this.#end === undefined) return;
    this.#end();
    this.#end = undefined;
    this.#onChange();
  }
}
