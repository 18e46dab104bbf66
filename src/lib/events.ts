// Typed events inside one process: `emit` calls the listeners at once, in the order of their
// registration.

type Listeners<EventMap extends { [Name in keyof EventMap]: readonly unknown[] }> = {
  [Name in keyof EventMap]?: ((...args: EventMap[Name]) => void)[];
};

export class Events<EventMap extends { [Name in keyof EventMap]: readonly unknown[] }> {
  readonly #listeners: Listeners<EventMap> = {};

  on<Name extends keyof EventMap>(name: Name, listener: (...args: EventMap[Name]) => void): void {
    const listeners = this.#listeners[name] ?? [];
    listeners.push(listener);
    this.#listeners[name] = listeners;
  }

  emit<Name extends keyof EventMap>(name: Name, ...args: EventMap[Name]): void {
    for (const listener of this.#listeners[name] ?? []) listener(...args);
  }
}
