import { parseTime } from '../../contract/api/time.ts'
import type { ApiCall, ApiHandler } from '../api/call.ts'
import { listJson, pageOf } from '../api/lists.ts'
import { listObservations, observationJson } from '../catalog/priceLists/observationStore.ts'
import { chosenCatalog, signatureJson, signersJson, versionJson } from '../catalog/signing/catalogReads.ts'
import { listCatalogs } from '../catalog/signing/catalogStore.ts'
import type { Limits } from '../limits.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** Versions are integers of 32 bits. */
const VERSION_ABOVE_ALL = 2 ** 31 - 1

/** Public reads of the signed catalog and of observed prices. */
export function catalogHandlers(db: Queryable, limits: Limits) {
  return {
    // The text as it was signed, byte for byte.
    get_catalog: { read: async (call) => ({ text: (await chosenCatalog(db, choiceOf(call))).text }) },
    get_catalog_signature: {
      read: async (call) => ({ json: await signatureJson(db, await chosenCatalog(db, choiceOf(call))) }),
    },
    get_catalog_signer: { read: async () => ({ json: await signersJson(db) }) },
    list_catalogs: {
      read: async (call) => {
        const { limit } = pageOf(call, limits)
        const below = numberOf(call, 'after') ?? VERSION_ABOVE_ALL
        return { json: listJson((await listCatalogs(db, limit + 1, below)).map(versionJson), limit) }
      },
    },
    list_price_observations: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        const found = await listObservations(db, filterOf(call), limit + 1, after)
        return { json: listJson(found.map(observationJson), limit) }
      },
    },
  } as const satisfies Record<string, ApiHandler>
}

function choiceOf(call: ApiCall) {
  return { version: numberOf(call, 'version'), priceSheet: numberOf(call, 'price_sheet') }
}

function filterOf(call: ApiCall) {
  const [from, to] = [textOf(call, 'from'), textOf(call, 'to')]
  return {
    model: textOf(call, 'model'),
    provider: textOf(call, 'provider'),
    fromMs: from === undefined ? undefined : parseTime(from),
    toMs: to === undefined ? undefined : parseTime(to),
  }
}

function textOf({ query }: ApiCall, name: string): string | undefined {
  const value = query[name]
  return typeof value === 'string' ? value : undefined
}

function numberOf({ query }: ApiCall, name: string): number | undefined {
  const value = query[name]
  return typeof value === 'number' ? value : undefined
}
