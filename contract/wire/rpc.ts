import { sluice } from './generated/messages.js'
import type { RpcLaneName } from './rpcStreams.ts'

/** How a message is written to bytes and read from them. */
export interface Codec<Written, Read> {
  readonly encode: (message: Written) => Uint8Array
  /** @throws Error for bytes that are not a valid message */
  readonly decode: (bytes: Uint8Array) => Read
}

/** A class of the generated code; messages are written without the members that have their usual value. */
interface MessageClass<Written, Read> {
  readonly encode: (message: Written) => { finish(): Uint8Array }
  readonly decode: (bytes: Uint8Array) => Read
}

function message<Written, Read>({ encode, decode }: MessageClass<Written, Read>): Codec<Written, Read> {
  return { encode: (written) => encode(written).finish(), decode: (bytes) => decode(bytes) }
}

/** JSON that is relayed to a client unchanged. */
const JSON_TEXT: Codec<string, string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
}
const EMPTY = message(sluice.Empty)
const APPROVAL = message(sluice.ApprovalRequest)

const TABLE = {
  ping: { lane: 'calls', request: message(sluice.PingRequest), reply: message(sluice.PingReply) },
  // For proxies of the build before it.
  resolve_key: { lane: 'calls', request: message(sluice.ResolveKeyRequest), reply: message(sluice.KeyRecord) },
  resolve_keys: { lane: 'calls', request: message(sluice.ResolveKeysRequest), reply: message(sluice.ResolveKeysReply) },
  void_holds: { lane: 'calls', request: message(sluice.VoidHoldsRequest), reply: message(sluice.VoidHoldsReply) },
  // For proxies of the build before it.
  settle_lost: { lane: 'calls', request: message(sluice.SettleLostRequest), reply: message(sluice.SettleLostReply) },
  get_balance: { lane: 'calls', request: message(sluice.GetBalanceRequest), reply: JSON_TEXT },
  ask_approval: { lane: 'calls', request: APPROVAL, reply: JSON_TEXT },
  use_approval: { lane: 'calls', request: APPROVAL, reply: message(sluice.UseApprovalReply) },
  release_approval: { lane: 'calls', request: APPROVAL, reply: EMPTY },
  get_receipt: { lane: 'reads', request: message(sluice.GetReceiptRequest), reply: JSON_TEXT },
  list_sheets: { lane: 'reads', request: EMPTY, reply: JSON_TEXT },
  get_sheet: { lane: 'reads', request: message(sluice.GetSheetRequest), reply: JSON_TEXT },
  get_log_file: { lane: 'reads', request: message(sluice.GetLogFileRequest), reply: message(sluice.LogFile) },
  payment_terms: { lane: 'reads', request: EMPTY, reply: message(sluice.PaymentTermsReply) },
  account_api: { lane: 'api', request: message(sluice.ApiRequest), reply: message(sluice.ApiReply) },
  make_payment: {
    lane: 'payments',
    request: message(sluice.MakePaymentRequest),
    reply: message(sluice.MakePaymentReply),
  },
  submit_batch: {
    lane: 'batches',
    request: message(sluice.SubmitBatchRequest),
    reply: message(sluice.SubmitBatchReply),
  },
} as const satisfies Readonly<Record<string, { lane: RpcLaneName; request: unknown; reply: unknown }>>

type Table = typeof TABLE
type Written<Of> = Of extends Codec<infer Message, infer _> ? Message : never
type Read<Of> = Of extends Codec<infer _, infer Message> ? Message : never

/** The calls that proxies may make to control. The name is sent with the call. */
export type RpcOperation = keyof Table

/** The request of an operation as a proxy writes it. */
export type RpcRequest<Name extends RpcOperation> = Written<Table[Name]['request']>
/** The request as control reads it. */
export type RpcRequestRead<Name extends RpcOperation> = Read<Table[Name]['request']>
/** The reply of an operation as control writes it. */
export type RpcReply<Name extends RpcOperation> = Written<Table[Name]['reply']>
/** The reply as a proxy reads it. */
export type RpcReplyRead<Name extends RpcOperation> = Read<Table[Name]['reply']>

export interface RpcRow<Name extends RpcOperation> {
  /** Which calls it shares its bounds with; see rpcStreams.ts. */
  readonly lane: RpcLaneName
  readonly request: Codec<RpcRequest<Name>, RpcRequestRead<Name>>
  readonly reply: Codec<RpcReply<Name>, RpcReplyRead<Name>>
}

/**
 * Every operation that the proxies may call, a row each. An operation whose messages get another meaning gets another
 * name, because a control that does not know a name refuses the call: proxies and controls of two versions run side by
 * side while the gateway is updated.
 */
export const RPC: { readonly [Name in RpcOperation]: RpcRow<Name> } = TABLE

/** Whether `name` is a known operation; names that arrive over Redis are checked with it. */
export function isRpcOperation(name: string): name is RpcOperation {
  return Object.hasOwn(RPC, name)
}
