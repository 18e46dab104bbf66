// Parts letters without spaces into the words of a list. It knows nothing of checksums;
// recovery-words.ts asks them which way of parting is a phrase.

/** The most words of a phrase (SLIP-39). */
const maxWords = 33;
const maxSplits = 16;
/** Korean, in the letters that its syllables are made of, has the longest. */
const maxWordLength = 16;

/** @returns the ways to write the whole text as words of the list, the first 16 of them */
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
