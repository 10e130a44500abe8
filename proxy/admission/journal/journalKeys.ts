import { hkdfSync } from 'node:crypto'

export const KEY_BYTES = 32

/**
 * The keys of the blocks of one owner's journal, so that nobody without SLUICE_BUS_KEY can add to it, and no block passes in
 * the journal of another owner.
 * @param busKeys of SLUICE_BUS_KEY
 * @returns as many keys in that order: the first one seals, each of them verifies
 */
export function journalKeys(busKeys: readonly Buffer[], owner: string): readonly Buffer[] {
  return busKeys.map((busKey) => Buffer.from(hkdfSync('sha256', busKey, '', `sluice journal\n${owner}`, KEY_BYTES)))
}

/** The key with which an owner's blocks are sealed. @param busKeys at least one */
export function sealingKey(busKeys: readonly Buffer[], owner: string): Buffer {
  const [key] = journalKeys(busKeys, owner)
  if (key === undefined) throw new Error('there is no bus key')
  return key
}
