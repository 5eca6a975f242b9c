const tabs=[...document.querySelectorAll('[role=tab]')];
const sheets=[...document.querySelectorAll('section')].map(box=>({box,at:0,
  items:[...box.querySelectorAll('li.step')],pictures:[...box.querySelectorAll('figure')]}));
let open=0;
function show(sheet,entry){
  open=Math.max(0,Math.min(sheets.length-1,sheet));
  const one=sheets[open];
  one.at=Math.max(0,Math.min(one.items.length-1,entry));
  sheets.forEach((s,i)=>s.box.hidden=i!==open);
  tabs.forEach((t,i)=>t.setAttribute('aria-selected',i===open));
  one.items.forEach((e,i)=>i===one.at?e.setAttribute('aria-current','step'):e.removeAttribute('aria-current'));
  one.pictures.forEach((e,i)=>e.hidden=i!==one.at);
  one.items[one.at]?.scrollIntoView({block:'nearest'});
  one.pictures[one.at]?.querySelector('.changed')?.scrollIntoView({block:'nearest',inline:'nearest'});
  document.getElementById('where').textContent=(one.at+1)+' of '+one.items.length;
  history.replaceState(null,'','#'+(open+1)+'.'+(one.at+1));
}
const step=by=>show(open,sheets[open].at+by);
tabs.forEach((t,i)=>t.onclick=()=>show(i,sheets[i].at));
sheets.forEach((s,n)=>{
  s.items.forEach((e,i)=>e.onclick=()=>show(n,i));
  s.box.querySelectorAll('a').forEach(a=>a.onclick=()=>show(n,+a.dataset.to));
});
document.getElementById('back').onclick=()=>step(-1);
document.getElementById('next').onclick=()=>step(1);
addEventListener('keydown',e=>{
  if(e.altKey||e.ctrlKey||e.metaKey)return;
  const by={ArrowLeft:-1,ArrowUp:-1,ArrowRight:1,ArrowDown:1,PageUp:-10,PageDown:10}[e.key];
  if(by){step(by);e.preventDefault()}
  else if(e.key==='Home')show(open,0);
  else if(e.key==='End')show(open,Infinity);
  else if(tabs[e.key-1])tabs[e.key-1].click();
});
const place=/^#(\d+)\.(\d+)$/.exec(location.hash);
show(place?place[1]-1:0,place?place[2]-1:0);
