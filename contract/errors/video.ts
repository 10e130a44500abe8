import { row } from './row.ts'

/** The contract's codes for video jobs. */
export const VIDEO_ERRORS = {
  aspect_ratio_unsupported: row(400, 'The model does not take this aspect_ratio; use one that it lists.'),
  gateway_restart: row(503, 'The gateway restarted before the clip was made; nothing was charged. Submit it again.'),
  image_required: row(400, 'The model needs a first frame; send image as a PNG or JPEG data URL.'),
  image_too_large: row(400, 'The first frame is too large; send a smaller one.'),
  image_unsupported: row(400, 'The model takes text only; leave image out.'),
  invalid_image: row(400, 'Send image as a readable PNG or JPEG data URL.'),
  invalid_seconds: row(400, 'Give seconds as a whole number that the model takes.'),
  negative_prompt_too_long: row(400, 'negative_prompt is too long; shorten it.'),
  negative_prompt_unsupported: row(400, 'The model takes no negative_prompt; leave it out.'),
  prompt_too_long: row(400, 'The prompt is too long; shorten it.'),
  read_token_required: row(401, 'This job was paid per request; send its read token as Authorization: Bearer.'),
  restarting: row(503, 'No new video jobs are taken during a restart; try again after Retry-After seconds.'),
  size_unsupported: row(400, 'size is not taken; use aspect_ratio.'),
  too_many_video_jobs: row(429, 'Too many video jobs are running; wait until one has finished.'),
  unsupported_resolution: row(400, 'The model is sold at one resolution; use that or leave it out.'),
  video_expired: row(410, 'Clips are kept for 30 minutes; this one is gone.', { charged: 'earlier' }),
  video_failed: row(409, 'The job failed and was not charged; submit it again.', { type: 'upstream_error' }),
  video_not_ready: row(409, 'The clip is still being made; ask again later.'),
} as const
