-- Leaky bucket: GCRA whose callers are held until what was ahead of them has drained.

if name == 'leaky-bucket' then
  bucket.isQueue = true
  known = bucket
end
