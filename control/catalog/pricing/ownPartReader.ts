import { DIALECT } from '../../../contract/catalog/dialects.ts'
import type { OwnPart } from '../../../contract/providers/ownParts.ts'
import type { Path, YamlFile } from '../../runtime/files/yamlFile.ts'
import type { OwnPartContent, ProviderContent } from './catalogContent.ts'

/** The own headers and the own query of a provider that fits its schema; other errors are recorded on the file. */
export function readOwn(
  file: YamlFile,
  path: Path,
  content: ProviderContent,
): { readonly headers: readonly OwnPart[]; readonly query: readonly OwnPart[] } {
  const hasKey = content.keys !== undefined || content.api_key_env !== undefined
  const ofDialect = Object.keys(DIALECT[content.dialect].headers(hasKey ? 'key' : ''))
  const ofKey = new Set(ofDialect)
  return {
    headers: parts(file, [...path, 'headers'], content.headers, (name) =>
      ofKey.has(name) ? 'is a header of the dialect or of the key, which the gateway sends' : '',
    ),
    query: parts(file, [...path, 'query'], content.query, () => ''),
  }
}

function parts(
  file: YamlFile,
  path: Path,
  contents: readonly OwnPartContent[],
  faultOf: (name: string) => string,
): readonly OwnPart[] {
  const seen = new Set<string>()
  return contents.map(({ name, value, env, file: secret }, index) => {
    const place = [...path, index]
    const given = [value, env, secret].filter((one) => one !== undefined)
    if (given.length !== 1) file.problem(place, 'must have one of value, env and file')
    const fault = seen.has(name) ? `repeats "${name}"` : faultOf(name)
    if (fault !== '') file.problem(place, fault)
    seen.add(name)
    return { name, value: value ?? '', env: env ?? '', file: secret ?? '' }
  })
}
