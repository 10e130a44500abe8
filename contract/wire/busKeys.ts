const SEPARATOR = ','

/**
 * The keys of SLUICE_BUS_KEY, so that a key can be replaced while proxies and controls run.
 * @param text one or two keys of 64 hex digits, separated by a comma
 * @returns the keys in that order: the first one seals and signs, each of them opens and verifies
 */
export function busKeysOf(text: string): readonly Buffer[] {
  return text.split(SEPARATOR).map((key) => Buffer.from(key, 'hex'))
}
