import type { RpcHandlers } from '../../../control/runtime/bus/rpcOperations.ts'

const nothing = async () => ({})
const noText = async () => ''

/** Answers every call of the proxies with nothing. */
export const EMPTY_HANDLERS: RpcHandlers = {
  ping: nothing,
  resolve_key: nothing,
  resolve_keys: nothing,
  void_holds: nothing,
  settle_lost: nothing,
  get_balance: noText,
  ask_approval: noText,
  use_approval: nothing,
  release_approval: nothing,
  get_receipt: noText,
  list_sheets: noText,
  get_sheet: noText,
  get_log_file: nothing,
  payment_terms: nothing,
  account_api: nothing,
  make_payment: nothing,
  submit_batch: nothing,
}
