{{ config(materialized='incremental', incremental_strategy='append') }}
select c.name as customer, max(r.revenue) as best, sum(l.price) as live
from {{ ref('revenue') }} r
join {{ source('clean', 'customers') }} c on c.name = r.customer
join {{ source('clean', 'live') }} l on l.customer = r.customer
group by c.name
