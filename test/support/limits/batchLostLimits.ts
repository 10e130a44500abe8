// Imported before anything that reads the limits.
process.env['SLUICE_LIMITS'] = JSON.stringify({
  housekeepingMs: 50,
  batchOpenMs: 100,
  batchTickMs: 50,
  auditRechecksMax: 3,
  admissionPollMs: 20,
  batchPassMax: 2,
})
