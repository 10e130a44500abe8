import { setTimeout as sleep } from 'node:timers/promises'
import { lastAttestation, requestAttestation } from '../products/reserve/attestationStore.ts'
import { lastReading } from '../products/reserve/readingStore.ts'
import { withdrawalGate } from '../products/reserve/withdrawalGate.ts'
import type { Arguments, CommandGroup } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts, table } from './table.ts'

const POLL_MS = 200

async function show(_args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const [reading, attestation] = await Promise.all([lastReading(pool), lastAttestation(pool)])
  if (reading === undefined) throw new CommandError('the reserve has not been read yet: is control running?')
  const { reserve, at } = reading
  const withdrawals = reserve.network === null ? 'not configured' : withdrawalGate(reading, context.limits)
  const text = facts([
    ['read at', at.toISOString()],
    ['network', reserve.network ?? 'none'],
    ['block', String(reserve.block ?? 'none')],
    ['held', `${reserve.held_usd} USD`],
    ['owed', `${reserve.owed_usd} USD`],
    ['ratio', reserve.ratio ?? 'none'],
    ['withdrawals', withdrawals],
    [
      'attestation',
      attestation === undefined ? 'none' : `${attestation.number} of ${attestation.attestedAt.toISOString()}`,
    ],
  ])
  const held = reserve.held.map((row) => [row.asset, row.holder, row.amount, row.usd, row.token])
  const owed = reserve.owed.map((row) => [row.class, row.asset, row.amount, row.usd, String(row.accounts)])
  const tables = [
    table(['HELD', 'BY', 'AMOUNT', 'USD', 'TOKEN'], held),
    table(['OWED', 'IN', 'AMOUNT', 'USD', 'ACCOUNTS'], owed),
  ]
  const json = { ...reserve, withdrawals, read_at: at.toISOString(), attestation: attestation?.number ?? null }
  context.print(json, [text, ...tables].join('\n\n'))
}

/** Only requests the attestation: control has the keys and the chain, and makes it. */
async function attest(_args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const before = (await lastAttestation(pool))?.number ?? 0
  await requestAttestation(pool)
  const endsMs = performance.now() + context.limits.attestationWaitMs
  while (performance.now() < endsMs) {
    const made = await lastAttestation(pool)
    if (made !== undefined && made.number > before) {
      const { number, digest, leaves, attestedAt } = made
      const json = { number: String(number), sha256: digest, leaves, attested_at: attestedAt.toISOString() }
      return context.print(json, `attestation ${number} of ${leaves} accounts: ${digest}`) as undefined
    }
    await sleep(POLL_MS)
  }
  throw new CommandError(
    'it is asked for and not made yet: control needs SLUICE_CATALOG_KEY, the signer of the catalog, and its chain',
  )
}

export const RESERVE: CommandGroup = {
  name: 'reserve',
  summary: 'debts, and the holdings against them',
  commands: [
    { synopsis: 'show', summary: 'Shows the last reading of the reserve and the last attestation.', run: show },
    { synopsis: 'attest', summary: 'Has control attest the reserve now, and waits for it.', run: attest },
  ],
}
