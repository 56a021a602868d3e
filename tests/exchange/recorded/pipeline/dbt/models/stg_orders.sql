{{ config(materialized='view') }}
select order_id, day, customer, price from {{ source('clean', 'orders') }} where price > 1
