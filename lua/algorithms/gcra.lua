-- GCRA: the backlog is kept, which is what is ahead of the theoretical arrival time.

if name == 'gcra' then
  known = bucket
end
