// How much of what servers tell is held until it is written down: many histories are gathered at once, each
// of any number of transactions, and a server may make them all up.

export interface Load {
  /** Opens what one look will hold. */
  open(): Held;
}

export interface Held {
  /** Takes so many bytes; false when there is no room for them now. */
  take(bytes: number): boolean;
  /** To be called when they are written down, or let go of. */
  release(): void;
  /** The look has ended: what still comes of it is let go of at once. */
  close(): void;
}

/** @param most bytes of all that is open */
export function createLoad(most: number): Load {
  let total = 0;
  return {
    open() {
      let own = 0;
      let isOpen = true;
      const release = (): void => {
        total -= own;
        own = 0;
      };
      return {
        take(bytes) {
          if (!isOpen || total + bytes > most) return false;
          total += bytes;
          own += bytes;
          return true;
        },
        release,
        close() {
          isOpen = false;
          release();
        },
      };
    },
  };
}
