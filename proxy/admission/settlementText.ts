import type { ReceiptFields } from '../../contract/money/receipt.ts'
import type { SaltedTagging } from '../../contract/money/tags.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { count, flag, message, text } from './protoText.ts'

/** The content of a Settlement message; amounts are units, times milliseconds. Texts are ASCII, as all ids are. */
export interface SettlementFields
  extends Pick<ReceiptFields, 'requestId' | 'model' | 'endpoint' | 'sheetVersion' | 'streamed' | 'holdUnits' | 'usage'>,
    Pick<
      ReceiptFields,
      'quantity' | 'unit' | 'size' | 'attestation' | 'clamped' | 'durationMs' | 'firstByteMs' | 'tries'
    > {
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly status: sluice.Status
  /** A code of the error table, or ''. */
  readonly errorCode: string
  readonly chargeUnits: number
  readonly usageSource: sluice.UsageSource
  readonly startedAtMs: number
  readonly rate: sluice.Rate
  readonly tier: sluice.Tier
  /** Tokens that were burnt; absent for none. `chargeUnits` does not have them. */
  readonly lock?: BurntTokens | undefined
  /** Absent for a request without tags and user. */
  readonly tagging?: SaltedTagging | undefined
}

/** Tokens of a compute lock that a request has burnt. */
export interface BurntTokens {
  readonly seriesId: string
  /** At the locked price. */
  readonly units: number
  readonly micros: number
}

/**
 * A Settlement message of messages.proto in its wire form (https://protobuf.dev/programming-guides/encoding/), one character
 * a byte, because it becomes a part of the text of a call to Redis. It is encoded by hand because it is made for every
 * request; a test compares it with the output of the generated code.
 */
export function settlementText(fields: SettlementFields): string {
  return (
    text('\x0a', fields.requestId) +
    text('\x12', fields.accountId) +
    text('\x1a', fields.keyId) +
    text('\x22', fields.model) +
    text('\x2a', fields.endpoint) +
    text('\x32', fields.provider) +
    count('\x38', fields.sheetVersion) +
    count('\x40', fields.status) +
    text('\x4a', fields.errorCode) +
    flag('\x50', fields.streamed) +
    count('\x58', fields.holdUnits) +
    count('\x60', fields.chargeUnits) +
    message('\x6a', usageText(fields)) +
    count('\x70', fields.usageSource) +
    flag('\x78', fields.clamped) +
    count('\x80\x01', fields.startedAtMs) +
    count('\x88\x01', fields.firstByteMs) +
    count('\x90\x01', fields.durationMs) +
    count('\x98\x01', fields.rate) +
    count('\xa0\x01', fields.tier) +
    text('\xaa\x01', fields.size) +
    (fields.lock === undefined ? '' : lockText(fields.lock)) +
    text('\xe2\x08', fields.attestation) +
    count('\x90\x17', fields.tries) +
    (fields.tagging === undefined ? '' : taggingText(fields.tagging))
  )
}

/** The bytes of such a text. */
export function settlementBytes(settlement: string): Buffer {
  return Buffer.from(settlement, 'latin1')
}

/** The text that represents the bytes of a Settlement message. */
export function settlementOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function lockText({ seriesId, units, micros }: BurntTokens): string {
  return text('\xb2\x01', seriesId) + count('\xb8\x01', units) + count('\xc0\x01', micros)
}

function taggingText({ user, tags, salt }: SaltedTagging): string {
  return text('\xa2\x1a', user) + text('\xaa\x1a', tags) + text('\xb2\x1a', salt)
}

function usageText({ usage, quantity, unit }: SettlementFields): string {
  return (
    count('\x08', usage.input) +
    count('\x10', usage.cachedInput) +
    count('\x18', usage.cacheWrite5m) +
    count('\x20', usage.cacheWrite1h) +
    count('\x28', usage.output) +
    count('\x30', usage.reasoning) +
    count('\x38', quantity) +
    text('\x42', unit)
  )
}
