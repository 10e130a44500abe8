import { sluice } from '../../contract/wire/generated/messages.js'
import { newId } from '../../contract/wire/ids.ts'
import type { Entry } from '../../control/book/settlement/entry.ts'
import { parseEntries } from '../../control/book/settlement/openEntry.ts'

/** Whose request it was and what it cost, in units; other members replace those of a usual request. */
type OwnFacts = sluice.ISettlement & Required<Pick<sluice.ISettlement, 'accountId' | 'holdUnits' | 'chargeUnits'>>

/** The settlement of a usual request, a streamed chat. */
export function settlementOf(own: OwnFacts): sluice.ISettlement {
  return {
    requestId: newId('req'),
    keyId: own.accountId?.replace('acct', 'key'),
    model: 'acme/chat-small',
    endpoint: 'chat',
    provider: 'acme',
    sheetVersion: 1,
    status: sluice.Status.OK,
    streamed: true,
    usage: { input: 120, cachedInput: 16, output: 340 },
    usageSource: sluice.UsageSource.REPORTED,
    startedAtMs: Date.now(),
    firstByteMs: 210,
    durationMs: 3_100,
    ...own,
  }
}

/** Entries as a new proxy process delivers them, one of each shard. @param id of each in its stream */
export function entriesOf(endings: ReadonlyMap<number, Uint8Array[]>, id: string): Entry[] {
  const owner = newId('own')
  return parseEntries(
    [...endings].map(([shard, own]) => {
      const bytes = sluice.UnreadEndings.encode({ owner, from: 1, endings: own }).finish()
      return { shard, id, fields: [Buffer.from('b'), Buffer.from(bytes)] }
    }),
  )
}
