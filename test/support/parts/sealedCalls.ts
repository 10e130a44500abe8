import { CallSeal, replyLabel, requestLabel } from '../../../contract/wire/callSeal.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'

/** SLUICE_BUS_KEY of every stack that tests start. */
export const TEST_BUS_KEY = '7e57'.repeat(16)
const KEYS = [Buffer.from(TEST_BUS_KEY, 'hex')]

export interface TestCall {
  readonly id: number
  readonly channel: string
  readonly operation: string
  readonly payload: Uint8Array
  readonly timeoutMs: number
}

export interface OpenedReply {
  readonly id: number
  /** The row and the message of a refusal; empty without one. */
  readonly errorCode: string
  readonly errorMessage: string
  /** The same as proxies of the build before read it. */
  readonly forProxiesBefore: readonly [string, string]
  readonly payload: Uint8Array
}

/** The stream entry of a call, as a proxy makes it. */
export function callEntry({ id, channel, operation, payload, timeoutMs }: TestCall): Buffer {
  const sealed = new CallSeal(KEYS, channel).seal(requestLabel(operation, id), payload)
  return Buffer.from(sluice.RpcRequest.encode({ id, replyTo: channel, timeoutMs, operation, sealed }).finish())
}

/** A reply of control, as a proxy reads it; the payload is empty for one that is not sealed. */
export function openReply(channel: string, message: Uint8Array): OpenedReply {
  const { id, refusal, errorCode, errorMessage, sealed } = sluice.RpcReply.decode(message)
  const payload = new CallSeal(KEYS, channel).open(replyLabel(id), sealed) ?? new Uint8Array(0)
  const forProxiesBefore = [errorCode, errorMessage] as const
  return { id, errorCode: refusal?.row ?? '', errorMessage: refusal?.message ?? '', forProxiesBefore, payload }
}

/** The message of a reply that went well, as control makes it. */
export function replyMessage(channel: string, id: number, payload: Uint8Array): Buffer {
  const sealed = new CallSeal(KEYS, channel).seal(replyLabel(id), payload)
  return Buffer.from(sluice.RpcReply.encode({ id, sealed }).finish())
}
