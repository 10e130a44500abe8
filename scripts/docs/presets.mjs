import { PRESETS } from '../../dist/control/catalog/pricing/presets.js'
import { code, page, sentence, table } from './markdown.mjs'

/** docs/reference/presets.md: the providers that a catalog names by `preset`. */
export function presetsPage() {
  const sections = Object.entries(PRESETS).map(([name, { title, provider, quirks, source }]) => [
    `## ${name}`,
    `${title}, see [its documentation](${source}).`,
    table(
      ['member', 'value'],
      Object.entries(provider).map(([member, value]) => [code(member), code(JSON.stringify(value))]),
    ),
    ...(quirks.length === 0 ? [] : [quirks.map((quirk) => `- ${sentence(quirk)}`).join('\n')]),
  ])
  return page('Presets of providers', '`control/catalog/pricing/presets.ts`', [
    'A provider of the catalog with `preset` needs its `id` and its `data_policy`, and has the other members of the preset. A member in the entry itself replaces that of the preset.',
    '```yaml\nproviders:\n  - { id: groq, preset: groq, data_policy: none }\n```',
    ...sections.flat(),
  ])
}
