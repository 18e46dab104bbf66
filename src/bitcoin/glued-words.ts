// Splits letters without spaces into words of a list. It knows no checksums: recovery-words.ts
// checks which split is a phrase.

/** SLIP-39 has the phrases with the most words. */
const maxWords = 33;
const maxSplits = 16;
/** The length of decomposed Korean words, which have the most letters. */
const maxWordLength = 16;

/** The first 16 ways to write the whole text as words of the list. */
export function splitsIntoWords(text: string, places: ReadonlyMap<string, number>): string[][] {
  const found: string[][] = [];
  const dead = new Set<number>();
  const part = (at: number, words: readonly string[]): boolean => {
    if (at === text.length) found.push([...words]);
    if (at === text.length) return true;
    if (dead.has(at) || words.length >= maxWords || found.length >= maxSplits) return false;
    let ends = false;
    for (let length = 1; length <= maxWordLength; length += 1) {
      const word = text.slice(at, at + length);
      if (places.has(word) && part(at + length, [...words, word])) ends = true;
    }
    if (!ends) dead.add(at);
    return ends;
  };
  part(0, []);
  return found;
}
