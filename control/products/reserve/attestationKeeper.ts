import type { Logger } from 'pino'
import { tryLock } from '../../runtime/db/locks.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import { attestationProgress, type LastProgress } from './attestationStore.ts'
import type { AttestationReason } from './attestationText.ts'
import { type AttestationOptions, addressesText, makeAttestation, OtherSignerError } from './makeAttestation.ts'
import { hashOf } from './reading.ts'

export interface AttestationKeeperOptions extends AttestationOptions {
  /** From one attestation to the next. */
  readonly intervalSeconds: number
  readonly log: Logger
}

/**
 * Has an attestation made at the set interval, when the addresses have changed, when the attested block is no longer part of the
 * chain, and when the operator asks for one.
 */
export function attestationKeeper(options: AttestationKeeperOptions): Loop {
  const { pool, log, limits } = options
  let toldOfSigner = false
  return new Loop('attestations', limits.attestationCheckMs, log, async () => {
    if ((await dueReason(options)) === undefined) return
    await tryLock(pool, 'attestations', async () => {
      // Read again: another control may have made it a moment ago.
      const reason = await dueReason(options)
      if (reason === undefined) return
      try {
        const made = await makeAttestation(options, reason)
        if (made === undefined) return
        const { number, digest, leaves } = made
        logEvent(log, 'reserve_attested', { attestation: number, digest, leaves, reason })
      } catch (error) {
        if (!(error instanceof OtherSignerError)) throw error
        if (!toldOfSigner) logEvent(log, 'reserve_attestation_signer_mismatch', { reason: error.message })
        toldOfSigner = true
      }
    })
  })
}

async function dueReason({
  pool,
  chain,
  intervalSeconds,
}: AttestationKeeperOptions): Promise<AttestationReason | undefined> {
  const { last, isAsked } = await attestationProgress(pool)
  if (isAsked) return 'operator'
  if (last === undefined || last.ageMs >= intervalSeconds * 1_000) return 'schedule'
  if (last.addresses !== addressesText(chain)) return 'addresses'
  return (await isReplaced(chain, last)) ? 'reorganization' : undefined
}

/** Whether the chain has another block in place of the attested one. Without an answer of the node that is not known. */
async function isReplaced(chain: AttestationOptions['chain'], { block, blockHash }: LastProgress): Promise<boolean> {
  if (chain === undefined || block === null) return false
  const now = await hashOf(chain.client, block).catch(() => undefined)
  return now !== undefined && now !== blockHash
}
