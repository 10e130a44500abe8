import type { FallbackReason } from '../../../contract/catalog/fallback.ts'
import { CLIENT_LIMITS } from '../../../contract/limits/clientLimits.ts'
import { type Draft, modelIdOf } from './draft.ts'
import { type Fields, listIn } from './reads.ts'

/** As many as the schema of the catalog takes. */
const FALLBACKS_MAX = CLIENT_LIMITS.fallbackModelsMax
/** The lists of a configuration, with the reasons for which their models are asked. */
const REASONS_OF: Readonly<Record<string, readonly FallbackReason[]>> = {
  fallbacks: ['unavailable', 'rate_limited'],
  context_window_fallbacks: ['context_length'],
}

/**
 * Adds the fallbacks of a section, which are lists of {model: [other, ...]}, to the models of a draft.
 * @param section the name of the section, for notes
 */
export function addFallbacks(draft: Draft, section: string, settings: Fields): void {
  for (const [name, reasons] of Object.entries(REASONS_OF)) {
    for (const [i, entry] of listIn(settings, name).entries()) {
      if (typeof entry !== 'object' || entry === null) continue
      for (const [model, others] of Object.entries(entry)) {
        addOthers(draft, `${section}.${name}[${i}]`, model, Array.isArray(others) ? others : [], reasons)
      }
    }
  }
}

function addOthers(
  draft: Draft,
  place: string,
  name: string,
  others: readonly unknown[],
  reasons: readonly FallbackReason[],
): void {
  const model = draft.models.get(modelIdOf(name))
  if (model?.facts.modality !== 'chat') {
    draft.note(place, `"${name}" is no chat model of the catalog`)
    return
  }
  for (const other of others) {
    const found = typeof other === 'string' ? draft.models.get(modelIdOf(other)) : undefined
    const known = found && model.fallbacks.get(found)
    if (found === undefined || found === model || found.facts.modality !== 'chat') {
      draft.note(place, `${JSON.stringify(other)} is no other chat model of the catalog`)
    } else if (known !== undefined) for (const reason of reasons) known.add(reason)
    else if (model.fallbacks.size < FALLBACKS_MAX) model.fallbacks.set(found, new Set(reasons))
    else
      draft.note(place, `a model falls back to at most ${FALLBACKS_MAX} others; ${JSON.stringify(other)} is left out`)
  }
}
