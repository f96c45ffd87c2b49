/**
 * Hash tags of the virtual shards: two-letter words whose slots lie evenly over the 16384 of a Redis
 * Cluster, so that nodes with equal ranges of slots get equal load, while few enough for the
 * decisions of one moment to travel together. A test holds them to their slots.
 */
export const SHARD_TAGS: readonly string[] = (
  'mm I4 9i LY 8D J9 Bl Z5 Hb kv JB iV YC zW IO xw nC MW lc Ow mN 6R 9J K7 KL 91 Il m5 HA kU Ja iu ' +
  'Oi k0 MI 8y Ld op ND x1 jf Ir hF KR ik XS yg Zs LG oS Ng ms 7B Br 5b i3 iH Xp yD O1 jE IQ he Kq'
).split(' ');
