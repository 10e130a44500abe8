import { sluice } from '../../../contract/wire/generated/messages.js'

/** What the proxies may ask of control: the request each operation takes. Replies are the bytes that the proxy reads. */
export interface RpcRequests {
  readonly ping: sluice.PingRequest
  readonly resolve_key: sluice.ResolveKeyRequest
  readonly get_receipt: sluice.GetReceiptRequest
  readonly get_balance: sluice.GetBalanceRequest
  readonly list_sheets: undefined
  readonly get_sheet: sluice.GetSheetRequest
  readonly settle_lost: sluice.SettleLostRequest
  readonly ask_approval: sluice.ApprovalRequest
  readonly use_approval: sluice.ApprovalRequest
  readonly release_approval: sluice.ApprovalRequest
  readonly api: sluice.ApiRequest
  readonly payment_terms: undefined
  readonly settle_payment: sluice.SettlePaymentRequest
  readonly submit_batch: sluice.SubmitBatchRequest
}

/** What an operation may know of its call. */
export interface RpcCall {
  /** Until when somebody waits for the answer, by the clock of performance.now(). */
  readonly deadlineMs: number
}

export type RpcOperation = keyof RpcRequests

/** Answers each operation; a GatewayError reaches the client, everything else is logged and shown as internal_error. */
export type RpcHandlers = { [Name in RpcOperation]: (request: RpcRequests[Name], call: RpcCall) => Promise<Uint8Array> }

const DECODERS: { [Name in RpcOperation]: (payload: Uint8Array) => RpcRequests[Name] } = {
  ping: (payload) => sluice.PingRequest.decode(payload),
  resolve_key: (payload) => sluice.ResolveKeyRequest.decode(payload),
  get_receipt: (payload) => sluice.GetReceiptRequest.decode(payload),
  get_balance: (payload) => sluice.GetBalanceRequest.decode(payload),
  list_sheets: () => undefined,
  get_sheet: (payload) => sluice.GetSheetRequest.decode(payload),
  settle_lost: (payload) => sluice.SettleLostRequest.decode(payload),
  ask_approval: (payload) => sluice.ApprovalRequest.decode(payload),
  use_approval: (payload) => sluice.ApprovalRequest.decode(payload),
  release_approval: (payload) => sluice.ApprovalRequest.decode(payload),
  api: (payload) => sluice.ApiRequest.decode(payload),
  payment_terms: () => undefined,
  settle_payment: (payload) => sluice.SettlePaymentRequest.decode(payload),
  submit_batch: (payload) => sluice.SubmitBatchRequest.decode(payload),
}

export function isRpcOperation(name: string): name is RpcOperation {
  return Object.hasOwn(DECODERS, name)
}

/** Decodes the payload and runs the handler. @throws what the handler throws, or a protobuf error */
export async function callOperation<Name extends RpcOperation>(
  handlers: RpcHandlers,
  name: Name,
  payload: Uint8Array,
  call: RpcCall,
): Promise<Uint8Array> {
  return handlers[name](DECODERS[name](payload), call)
}
