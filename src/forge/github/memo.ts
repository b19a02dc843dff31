/** What was found out before, and no more than `limit` of it: what nobody asked for the longest is forgotten first. */
interface Memo<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
}

export function memo<Key, Value>(limit: number): Memo<Key, Value> {
  const kept = new Map<Key, Value>();
  const set = (key: Key, value: Value): void => {
    kept.delete(key);
    kept.set(key, value);
    if (kept.size > limit) kept.delete(kept.keys().next().value as Key);
  };
  return {
    get(key) {
      const found = kept.get(key);
      if (found !== undefined) set(key, found);
      return found;
    },
    set,
    delete: (key) => void kept.delete(key),
  };
}
