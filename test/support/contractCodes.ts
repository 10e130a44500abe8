/**
 * The codes of the contract with clients, with their statuses. The list is frozen: codes are added, never taken away or given
 * another status. `+` is a provider's own 4xx, `stream` an error inside a stream.
 */
export const CONTRACT_CODES = `
audio_too_long 400, bad_multipart 400, batch_expired 409, batch_failed 409, batch_unavailable 400 503,
body_incomplete 400, body_timeout 408, context_length_exceeded 400, deadline_too_close 408,
endpoint_not_supported 400, gateway_restarting 503, input_too_long 400, invalid_size 400,
key_privacy_unavailable 503, max_price_unsupported 400, model_not_found 404, model_unavailable 503,
model_unverified 503, no_route_for_policy 404, not_multipart 400, not_ready 404, payment_with_key 400,
policy_unavailable 503, private_batch_unavailable 400, result_expired 410, retention_required 409,
settings_unavailable 503, stream_cut stream, stream_interrupted stream, too_many_images 400, too_many_uploads 429,
tool_error 500, tool_input_invalid 400, tool_input_rejected 400 +, tool_not_found 404, tool_timeout 504,
tool_unavailable 409, tool_upstream_error 502, unsupported_audio 400, unsupported_parameter 400,
upstream_rate_limited 429, upstream_rejected 400 +, upstream_timeout 504, upstream_unavailable 502, wrong_endpoint 400,
aspect_ratio_unsupported 400, gateway_restart 503, image_required 400, image_too_large 400, image_unsupported 400,
invalid_image 400, invalid_seconds 400, negative_prompt_too_long 400, negative_prompt_unsupported 400,
prompt_too_long 400, read_token_required 401, restarting 503, size_unsupported 400, too_many_video_jobs 429,
unsupported_resolution 400, video_expired 410, video_failed 409, video_not_ready 409,
insufficient_balance 402, key_budget_exceeded 402, key_paused 403, model_not_allowed 403, rate_limited 429,
request_cap_exceeded 402, spend_limit_exceeded 402, tool_not_allowed 403,
agent_identity_invalid 400, agent_identity_not_payer 403, agent_identity_unknown 400, authorization_used 402 409,
funds_lease 503, insufficient_funds 402, invalid_address 400, mpp_invalid_challenge 402, mpp_invalid_payload 402,
mpp_malformed_credential 402, mpp_payment_expired 402, payment_already_resolved 409, payment_conflict 400,
payment_in_flight 429, payment_invalid 402, payments_busy 429, allowance_required 402, quote_mismatch 402,
settlement_failed 402, settlement_unconfirmed 502, x402 402,
account_not_linked 401, address_in_use 409, already_referred 409, attach_velocity 429, authorization_invalid 400,
bad_signature 400, below_minimum 400 409, code_unavailable 503`
