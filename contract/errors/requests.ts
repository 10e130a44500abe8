import { row } from './row.ts'

/** The contract's codes for requests and models, and those for limits, caps and balances. */
export const REQUEST_ERRORS = {
  audio_too_long: row(400, 'Send audio of at most four hours.'),
  bad_multipart: row(400, 'The multipart body cannot be read; check its boundary and part headers.'),
  batch_expired: row(409, 'The batch ended without a result and was not charged; submit it again.', {
    type: 'upstream_error',
  }),
  batch_failed: row(409, 'The provider failed the batch; it was not charged. Submit it again.', {
    type: 'upstream_error',
  }),
  batch_unavailable: row([400, 503], 'This request cannot run as a batch; send it without batch.'),
  body_incomplete: row(400, 'The body ended early; send all of it.'),
  body_timeout: row(408, 'The body arrived too slowly; send it faster.'),
  context_length_exceeded: row(400, 'The prompt or max_tokens is larger than the model takes; make it smaller.'),
  deadline_too_close: row(408, 'Too little time was left for a paid call; nothing was settled. Allow more time.', {
    retryable: false,
  }),
  endpoint_not_supported: row(400, 'This model serves chat completions only.'),
  gateway_restarting: row(503, 'The gateway is restarting; nothing was charged. Try again after Retry-After seconds.'),
  input_too_long: row(400, 'The input is longer than the model takes; shorten it.'),
  invalid_size: row(400, 'Give size as WIDTHxHEIGHT within the range of the model.'),
  key_privacy_unavailable: row(503, "The key's privacy settings cannot be read; nothing ran. Try again.", {
    type: 'server_error',
  }),
  max_price_unsupported: row(400, 'provider.max_price is for endpoints priced per token; leave it out.'),
  model_not_found: row(404, 'No model has this id; see /v1/models.'),
  model_unavailable: row(503, 'The model cannot serve now; try again later or use another one.'),
  model_unverified: row(503, 'The model has not yet returned a verified result; use another one.'),
  no_route_for_policy: row(404, 'No route meets the provider preferences; loosen them or use another model.'),
  not_multipart: row(400, 'Send the body as multipart/form-data.'),
  not_ready: row(404, 'The result is not ready; ask again later.'),
  payment_with_key: row(400, 'Send a key or a payment, not both.'),
  policy_unavailable: row(503, 'The policy of the key or agent cannot be read; nothing ran. Try again.', {
    type: 'server_error',
  }),
  private_batch_unavailable: row(400, 'A batch cannot run on the private tier; send it without batch.'),
  result_expired: row(410, 'The result of this batch job was kept for its time and is gone.', { charged: 'earlier' }),
  retention_required: row(409, 'This tool keeps records; set provider.allow_retention to true to run it.'),
  settings_unavailable: row(503, "The account's routing defaults cannot be read; nothing ran. Try again.", {
    type: 'server_error',
  }),
  stream_cut: row(503, 'The gateway restarted during the stream; it was not charged. Send the request again.'),
  stream_interrupted: row(502, 'The provider ended the stream early; what was produced is charged.', {
    charged: 'partial',
    retryable: false,
  }),
  too_many_images: row(400, 'Send at most 16 images in a request.'),
  too_many_uploads: row(429, 'Too many uploads are in progress; try again after Retry-After seconds.'),
  tool_error: row(500, 'The tool failed; nothing was charged.'),
  tool_input_invalid: row(400, "The input does not match the tool's input_schema; see /v1/tools."),
  tool_input_rejected: row(400, "The tool's provider refused the input; change it.", { anyClientStatus: true }),
  tool_not_found: row(404, 'No tool has this id; see /v1/tools.'),
  tool_timeout: row(504, "The tool's provider did not answer in time; nothing was charged."),
  tool_unavailable: row(409, 'The tool is disabled; nothing was held. Use another one.'),
  tool_upstream_error: row(502, "The tool's provider failed; what it billed is charged.", {
    charged: 'billed',
    retryable: false,
  }),
  unsupported_audio: row(400, 'Send WAV, FLAC, MP3, Ogg, M4A, MP4 or WebM audio whose length can be measured.'),
  unsupported_parameter: row(400, 'functions and function_call are not served; use tools and tool_choice.'),
  upstream_rate_limited: row(429, "The tool's provider is limiting its rate; try again after Retry-After seconds."),
  upstream_rejected: row(400, 'The provider rejected the request without saying why; check its fields.', {
    anyClientStatus: true,
  }),
  upstream_timeout: row(504, 'No provider answered in time; nothing was charged. Try again.'),
  upstream_unavailable: row(502, 'Every route to this model failed; nothing was charged. Try again.'),
  wrong_endpoint: row(400, 'The model does not serve this endpoint; see its endpoints in /v1/pricing.'),

  insufficient_balance: row(402, 'The balance does not cover the request; add funds or lower max_tokens.', {
    type: 'insufficient_quota',
  }),
  key_budget_exceeded: row(402, "The key's budget does not cover this; raise it or use another key.", {
    type: 'insufficient_quota',
  }),
  key_paused: row(403, 'The key is paused; resume it by setting paused to false.'),
  model_not_allowed: row(403, 'The key may not use this model; use one from its allowlist.'),
  rate_limited: row(429, 'Too many requests; try again after Retry-After seconds.'),
  request_cap_exceeded: row(402, 'The request could cost more than the agent may spend on one; lower max_tokens.', {
    type: 'insufficient_quota',
  }),
  spend_limit_exceeded: row(402, 'A spending cap is reached; raise it or wait until its hour, day or month ends.', {
    type: 'insufficient_quota',
  }),
  tool_not_allowed: row(403, 'The key may not use this tool; use one from its allowlist.'),
} as const
