import type { VideoSettings } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { errorOf } from '../../../contract/wire/refusal.ts'
import type { VideoOrder } from '../../dialects/openai/openaiVideos.ts'
import { checkFirstFrame } from './firstFrame.ts'
import type { VideoLimits } from './limits.ts'
import type { VideoRequest } from './request.ts'

const WHOLE_NUMBER = /^[1-9][0-9]{0,4}$/

/**
 * The order for the provider, if the model supports every part of the request.
 * @throws GatewayError 400 with the code of the first part that it does not support
 */
export function orderOf(request: VideoRequest, settings: VideoSettings, limits: VideoLimits): VideoOrder {
  checkLength(request.prompt, settings.promptMax, 'prompt', 'prompt_too_long')
  const seconds = secondsOf(request.seconds, settings)
  const image = imageOf(request, settings, limits)
  const ratio = aspectRatioOf(request.aspectRatio, settings)
  const negativePrompt = negativePromptOf(request.negativePrompt, settings)
  checkResolution(request.resolution, settings)
  // A model is sold at one resolution, so it is always stated; a provider that takes a `size` has it in that.
  const size = settings.sizes.get(ratio === '' ? (settings.aspectRatios[0] ?? '') : ratio) ?? ''
  return {
    prompt: request.prompt,
    seconds,
    size,
    aspectRatio: size === '' ? ratio : '',
    resolution: size === '' ? settings.resolution : '',
    negativePrompt,
    image,
  }
}

/** Characters are code points: one that takes two places in a JavaScript string counts once. */
function checkLength(
  text: string,
  max: number,
  param: string,
  code: 'prompt_too_long' | 'negative_prompt_too_long',
): void {
  if (text.length <= max) return
  let characters = 0
  for (const _ of text) {
    if (++characters <= max) continue
    throw new GatewayError(code, { message: `${param} may have at most ${max} characters; shorten it.`, param })
  }
}

function secondsOf(sent: unknown, { seconds }: VideoSettings): number {
  if (sent === undefined) return seconds[0] ?? 0
  const value = typeof sent === 'string' && WHOLE_NUMBER.test(sent) ? Number(sent) : sent
  const found = seconds.find((choice) => choice === value)
  if (found !== undefined) return found
  const message = `seconds must be one of ${seconds.join(', ')} for this model.`
  throw new GatewayError('invalid_seconds', { message, param: 'seconds' })
}

function imageOf({ image, frame }: VideoRequest, settings: VideoSettings, limits: VideoLimits): string | Uint8Array {
  if (image === undefined) {
    if (settings.image === 'required') throw new GatewayError('image_required', { param: 'image' })
    return ''
  }
  if (settings.image === 'none') throw new GatewayError('image_unsupported', { param: 'image' })
  if (frame === undefined) return checkFirstFrame(image, limits)
  if ('json' in frame) return frame.json
  throw errorOf(frame.refusal)
}

function aspectRatioOf(sent: unknown, { aspectRatios }: VideoSettings): string {
  if (sent === undefined) return ''
  const found = aspectRatios.find((ratio) => ratio === sent)
  if (found !== undefined) return found
  const choices = aspectRatios.length === 0 ? 'leave it out' : `use one of ${aspectRatios.join(', ')}`
  const message = `The model does not take this aspect_ratio; ${choices}.`
  throw new GatewayError('aspect_ratio_unsupported', { message, param: 'aspect_ratio' })
}

function negativePromptOf(sent: string | null, { negativePromptMax }: VideoSettings): string {
  if (sent === null) return ''
  const param = 'negative_prompt'
  if (negativePromptMax === 0) throw new GatewayError('negative_prompt_unsupported', { param })
  checkLength(sent, negativePromptMax, param, 'negative_prompt_too_long')
  return sent
}

function checkResolution(sent: unknown, { resolution }: VideoSettings): void {
  if (sent === undefined) return
  if (typeof sent === 'string' && resolution !== '' && sent.toLowerCase() === resolution.toLowerCase()) return
  const choice = resolution === '' ? 'leave resolution out' : `its resolution is ${resolution}`
  const message = `The model is sold at one resolution; ${choice}.`
  throw new GatewayError('unsupported_resolution', { message, param: 'resolution' })
}
