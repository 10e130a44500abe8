import { type ListedKey, soleKey } from '../../../contract/providers/providerKeys.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { ProviderContent } from './catalogContent.ts'
import { readLimits } from './limitsReader.ts'

/** Reads the keys of a provider that fits its schema; other errors are recorded on the file. */
export function readKeys(file: YamlFile, path: Path, content: ProviderContent): readonly ListedKey[] {
  const { keys, api_key_env: env } = content
  if (keys === undefined) return soleKey(env ?? '')
  if (env !== undefined) file.problem([...path, 'api_key_env'], 'cannot stand beside keys')
  const seen = new Map<string, number>()
  return keys.map((key, index) => {
    const place = [...path, 'keys', index]
    if ((key.env === undefined) === (key.file === undefined)) file.problem(place, 'must name either env or file')
    const first = seen.get(key.id)
    if (first === undefined) seen.set(key.id, index)
    else file.problem(place, `repeats the id "${key.id}" of keys[${first}]`)
    const { id, env = '', file: secret = '', weight, models = [] } = key
    return { id, env, file: secret, weight, models, ...readLimits(key) }
  })
}
