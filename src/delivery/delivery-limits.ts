// How much may be under way to shops at once, and for how long.

export interface DeliveryLimits {
  /** Requests under way in all. */
  readonly maxInFlight: number;
  /** Requests under way to one store. */
  readonly maxPerStore: number;
  /** Longer than the sender's deadline. */
  readonly leaseMs: number;
  /** How long `stop` waits for requests under way before it cuts them off. */
  readonly drainMs: number;
}

export const deliveryLimits: DeliveryLimits = {
  maxInFlight: 128,
  maxPerStore: 2,
  leaseMs: 30_000,
  drainMs: 5_000,
};
