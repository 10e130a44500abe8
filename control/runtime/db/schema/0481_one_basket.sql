-- The price index has one basket, which follows from the price sheets.
DROP TABLE IF EXISTS index_baskets;
