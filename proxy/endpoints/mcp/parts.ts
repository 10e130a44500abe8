import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { RpcClient } from '../../bus/rpcClient.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { PaymentServices } from '../../payments/paidRequest.ts'
import type { Exchange, Precheck } from '../../server/exchange.ts'
import { checkKey } from '../run/checkKey.ts'
import type { RunServices } from '../run/services.ts'
import type { CallCredential } from './credential.ts'
import type { Site } from './site.ts'

/** The services that the tools of the Model Context Protocol need. */
export interface McpParts {
  readonly keys: KeyCache
  readonly catalog: CatalogStore
  readonly services: RunServices
  readonly payments: PaymentServices
  readonly rpc: RpcClient
  readonly site: Site
  /** Says who sends a request. */
  readonly precheck: Precheck
}

/** One call of a tool. */
export interface McpCall {
  readonly exchange: Exchange
  readonly input: JsonObject
  /** The body of the chat request, where another thread has made it of the arguments. */
  readonly chat: Buffer | null
  readonly meta: JsonObject
  readonly credential: CallCredential
}

/** The principal of the key in the headers. @throws GatewayError for a key that is not in force */
export async function callerOf({ exchange }: McpCall, keys: KeyCache): Promise<Principal> {
  const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
  checkKey(principal, exchange.startedAtMs)
  return principal
}
