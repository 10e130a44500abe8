import { GatewayError } from '../../../contract/errors/errors.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/**
 * Reads an image or a file of a history, which its client cannot take back.
 * @param newest whether the user has just sent it
 * @returns null for one that cannot be served; of the newest message that is an error
 * @throws GatewayError 400 of `read`
 */
export function readOrLeaveOut<Part>(newest: boolean, size: PromptSize, read: () => Part): Part | null {
  const { images } = size
  try {
    return read()
  } catch (error) {
    if (newest || !(error instanceof GatewayError)) throw error
    size.images = images
    size.rewritten = true
    return null
  }
}
