import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { PRESETS } from './presets.ts'

/**
 * Fills the members that providers of a catalog leave to their preset; a member of the entry itself stays as it is. Entries
 * that are no providers, and names that are no presets, stay for the schema to refuse.
 * @param content a catalog as YAML has it, which is changed
 */
export function fillPresets(content: unknown): void {
  if (!isJsonObject(content) || !Array.isArray(content['providers'])) return
  for (const entry of content['providers']) {
    if (!isJsonObject(entry) || typeof entry['preset'] !== 'string' || !Object.hasOwn(PRESETS, entry['preset']))
      continue
    for (const [member, value] of Object.entries(PRESETS[entry['preset']]?.provider ?? {})) {
      // Keys of the entry's own are all the keys that it has.
      if (member === 'api_key_env' && 'keys' in entry) continue
      if (!(member in entry)) entry[member] = structuredClone(value)
    }
  }
}
