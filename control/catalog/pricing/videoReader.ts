import { FIRST_FRAMES, type VideoSettings } from '../../../contract/catalog/video.ts'
import { choiceOf, textOf, tokensOf } from './values.ts'
import type { Field, YamlReader } from './yamlReader.ts'

const KEYS = ['seconds', 'image', 'aspect_ratios', 'sizes', 'resolution', 'negative_prompt', 'prompt']
const SECONDS_MAX = 3_600
const CHOICES_MAX = 120
const CHARACTERS_MAX = 100_000
const PROMPT_CHARACTERS = 4_000
const ASPECT_RATIO = /^[1-9][0-9]{0,3}:[1-9][0-9]{0,3}$/
const SIZE = /^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$/

/** What a video model without settings would take; stands in after a problem. */
const NOTHING: VideoSettings = {
  seconds: [],
  image: 'none',
  aspectRatios: [],
  sizes: new Map(),
  resolution: '',
  negativePromptMax: 0,
  promptMax: PROMPT_CHARACTERS,
}

/** Reads the member `video` of a video model. @param owner the model, where it is missing */
export function readVideoSettings(reader: YamlReader, owner: Field, field: Field | undefined): VideoSettings {
  if (field === undefined) {
    reader.problem(owner, 'has the modality video but no video settings; at least: video: { seconds: [4, 8] }')
    return NOTHING
  }
  const map = reader.map(field, KEYS)
  const seconds = readSeconds(reader, reader.required(map, field, 'seconds'))
  const aspectRatios = readAspectRatios(reader, map.get('aspect_ratios'))
  return {
    seconds,
    image: choiceOf(reader, map.get('image'), FIRST_FRAMES) ?? 'none',
    aspectRatios,
    sizes: readSizes(reader, map.get('sizes'), aspectRatios),
    resolution: textOf(reader, map.get('resolution')),
    negativePromptMax: charactersOf(reader, map.get('negative_prompt'), 0),
    promptMax: charactersOf(reader, map.get('prompt'), PROMPT_CHARACTERS),
  }
}

function readSeconds(reader: YamlReader, field: Field | undefined): number[] {
  const seconds: number[] = []
  for (const item of itemsOf(reader, field, 'clip length')) {
    const value = tokensOf(reader, item)
    if (value > SECONDS_MAX) reader.problem(item, `must be at most ${SECONDS_MAX} seconds`)
    if (value > 0 && seconds.includes(value)) reader.problem(item, `repeats ${value}`)
    seconds.push(value)
  }
  return seconds
}

function readAspectRatios(reader: YamlReader, field: Field | undefined): string[] {
  const ratios: string[] = []
  for (const item of itemsOf(reader, field, 'aspect ratio')) {
    const ratio = textOf(reader, item)
    if (ratio === '') continue
    if (!ASPECT_RATIO.test(ratio)) reader.problem(item, 'must be an aspect ratio in quotes such as "16:9"')
    if (ratios.includes(ratio)) reader.problem(item, `repeats ${ratio}`)
    ratios.push(ratio)
  }
  return ratios
}

function itemsOf(reader: YamlReader, field: Field | undefined, what: string): Field[] {
  if (field === undefined) return []
  const items = reader.list(field)
  if (items.length === 0) reader.problem(field, `must name at least one ${what}`)
  if (items.length > CHOICES_MAX) reader.problem(field, `must not name more than ${CHOICES_MAX}`)
  return items
}

/** A provider that is asked for a size needs one for every aspect ratio that clients may ask for. */
function readSizes(
  reader: YamlReader,
  field: Field | undefined,
  ratios: readonly string[],
): ReadonlyMap<string, string> {
  const sizes = new Map<string, string>()
  if (field === undefined) return sizes
  for (const [ratio, entry] of reader.entries(field)) {
    const size = textOf(reader, entry)
    if (size !== '' && !SIZE.test(size)) reader.problem(entry, 'must be WxH, such as 1280x720')
    if (!ratios.includes(ratio)) reader.problem(entry, 'is not one of the aspect_ratios')
    sizes.set(ratio, size)
  }
  const missing = ratios.find((ratio) => !sizes.has(ratio))
  if (missing !== undefined) reader.problem(field, `has no size for the aspect ratio ${missing}`)
  return sizes
}

function charactersOf(reader: YamlReader, field: Field | undefined, fallback: number): number {
  const value = tokensOf(reader, field, fallback)
  if (field && value > CHARACTERS_MAX) reader.problem(field, `must be at most ${CHARACTERS_MAX} characters`)
  return value
}
