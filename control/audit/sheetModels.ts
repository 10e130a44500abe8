import type { Sheet, SheetModel } from '../catalog/pricing/sheet.ts'
import { sheetOf } from '../catalog/pricing/sheetStore.ts'
import type { Client } from '../runtime/db/pool.ts'

/** The models of price sheets by their ids, for one page of receipts, which name few sheets. */
export class SheetModels {
  private readonly client: Client
  private readonly known = new Map<number, ReadonlyMap<string, SheetModel>>()

  constructor(client: Client) {
    this.client = client
  }

  /** The models of a price sheet; none where there is no such sheet. */
  async of(version: number): Promise<ReadonlyMap<string, SheetModel>> {
    const known = this.known.get(version)
    if (known !== undefined) return known
    const sheet = await sheetOf(this.client, version)
    const listed = sheet === undefined ? [] : (JSON.parse(sheet.text) as Sheet).models
    const models = new Map(listed.map((model) => [model.id, model]))
    this.known.set(version, models)
    return models
  }
}
