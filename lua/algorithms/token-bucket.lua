-- Token bucket: the level is kept, so a higher burst gives nothing at once.

if name == 'token-bucket' then
  bucket.isLevel = true
  known = bucket
end
