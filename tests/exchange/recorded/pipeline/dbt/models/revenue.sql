{{ config(materialized='table') }}
select day, customer, sum(price) as revenue, count(*) as orders from {{ ref('stg_orders') }} group by day, customer
